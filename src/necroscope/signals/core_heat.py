"""How full every core was, second by second, in percent: what a page draws a heatmap of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from necroscope import _native
from necroscope.errors import NecroscopeError
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.core_states import cores_file, open_columns
from necroscope.store.segment_damage import unreadable_file
from necroscope.store.store import Damage, StoredSegment

UNKNOWN = 255  # in place of a percentage, where nothing was recorded

Files = list[tuple[Path, int]]  # cores tables of sealed segments, and by how much each is behind UTC
Seconds = Callable[[Files], list[_native.SegmentHeat | OSError]]


@dataclass(frozen=True, slots=True)
class CoreHeat:
    """Percent of the fullest second in every column, a byte each, core by core."""

    begin_ns: int  # UTC, a whole second
    step_ns: int  # whole seconds
    columns: int
    cores: list[int]
    user: bytes
    system: bytes  # interrupts too, but not softirqs
    softirq: bytes
    steal: bytes
    wait: bytes
    damaged: list[Damage] = field(default_factory=list)  # segments that could not be read


def core_heat(
    segments: Sequence[StoredSegment],
    begin_ns: int,
    end_ns: int,
    step_ns: int,
    seconds_of: Seconds = _native.seconds_of_files,
) -> CoreHeat:
    """The heat between two times (UTC), from the whole second on that `begin_ns` lies in.

    `seconds_of` reads sealed segments, or has kept what it read. A `step_ns` that is not a whole number of
    seconds is a ValueError.
    """
    begin_ns -= begin_ns % SECOND_NS
    heat = _native.CoreHeat(begin_ns, end_ns, step_ns)
    inside = [one for one in segments if one.begin_ns < end_ns and one.end_ns >= begin_ns]
    damaged = _add_open(heat, inside)
    damaged += _add_sealed(heat, inside, seconds_of)
    percents = {name: heat.percents(name) for name in ("user", "system", "softirq", "steal", "wait")}
    return CoreHeat(begin_ns, step_ns, heat.columns, heat.cores, **percents, damaged=damaged)


def _add_open(heat: _native.CoreHeat, segments: Sequence[StoredSegment]) -> list[Damage]:
    damaged = []
    for segment in segments:
        try:
            if segment.is_open:
                heat.add_columns(open_columns(segment), segment.offset_ns)
        except NecroscopeError as error:
            damaged.append(Damage(segment.folder, error))
    return damaged


def _add_sealed(
    heat: _native.CoreHeat, segments: Sequence[StoredSegment], seconds_of: Seconds
) -> list[Damage]:
    damaged = []
    sealed: list[tuple[StoredSegment, Path]] = []
    for segment in segments:
        try:
            if not segment.is_open and (path := cores_file(segment)):
                sealed.append((segment, path))
        except NecroscopeError as error:
            damaged.append(Damage(segment.folder, error))
    read = seconds_of([(path, segment.offset_ns) for segment, path in sealed])
    for (segment, path), seconds in zip(sealed, read, strict=True):
        if isinstance(seconds, OSError):
            damaged.append(Damage(segment.folder, unreadable_file(path, seconds)))
        else:
            heat.add_seconds(seconds)
    return damaged
