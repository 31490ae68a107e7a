"""The state of every core in every second, in one letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from necroscope import _native
from necroscope.errors import NecroscopeError
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.cores import CORES
from necroscope.store.read_range import read_moments
from necroscope.store.seal import COUNTERS
from necroscope.store.segment import MAX_STEP_NS
from necroscope.store.segment_damage import unreadable_file
from necroscope.store.store import Damage, StoredSegment, has_file
from necroscope.store.tables import shape_of

MISSING = " "


@dataclass(frozen=True, slots=True)
class State:
    """What a letter stands for: this share of a second, or more, of a core's time."""

    letter: str
    means: str
    quantity: str
    at_least: float | str  # a share, or the threshold that has it


# Worst first: the first that holds names a second, and of several seconds in one column the worst is shown.
STATES = (
    State("Q", "in softirqs most of the time", "softirq", 0.5),
    State("S", "in the kernel nearly all the time", "kernel", "core-saturated.kernel_ratio"),
    State("X", "taken away by the hypervisor", "steal", 0.5),
    State("U", "full of user-space work", "busy", "core-saturated.busy_ratio"),
    State("s", "a third or more in the kernel", "kernel", 1 / 3),
    State("u", "half or more in user space", "user", 0.5),
    State("w", "waiting for input or output", "iowait", 0.5),
    State(".", "mostly free", "any", 0.0),
)
LEGEND = {**{state.letter: state.means for state in STATES}, MISSING: "not recorded"}


@dataclass(frozen=True, slots=True)
class CoreStates:
    """One letter a step of time for every core."""

    begin_ns: int  # UTC
    step_ns: int
    columns: int
    states: dict[int, str]  # by core
    damaged: list[Damage] = field(default_factory=list)  # segments that could not be read

    @property
    def missing(self) -> int:
        """Steps of cores without a state."""
        return sum(row.count(MISSING) for row in self.states.values())

    @property
    def worst_first(self) -> list[int]:
        """The cores, those with most of the worst letters first."""
        return sorted(self.states, key=lambda core: [-self.states[core].count(s.letter) for s in STATES])


Rule = tuple[str, str, float]  # letter, quantity, at least


def core_states(
    segments: Sequence[StoredSegment], begin_ns: int, end_ns: int, step_ns: int, thresholds: Thresholds
) -> CoreStates:
    """The states between two times (UTC); segments that cannot be read are told, and missing."""
    rules = [
        (s.letter, s.quantity, thresholds[s.at_least] if isinstance(s.at_least, str) else s.at_least)
        for s in STATES
    ]
    return core_letters(segments, begin_ns, end_ns, step_ns, rules)


def core_letters(
    segments: Sequence[StoredSegment], begin_ns: int, end_ns: int, step_ns: int, rules: list[Rule]
) -> CoreStates:
    """The same with other letters: the first rule that holds names a step, the worst should stand first."""
    grid = _native.CoreGrid(begin_ns, end_ns, step_ns, MAX_STEP_NS, rules)
    damaged = []
    for segment in segments:
        if segment.begin_ns >= end_ns or segment.end_ns < begin_ns:
            continue
        try:
            _add(grid, segment)
        except NecroscopeError as error:
            damaged.append(Damage(segment.folder, error))
    return CoreStates(begin_ns, step_ns, -(-(end_ns - begin_ns) // step_ns), dict(grid.states()), damaged)


def _add(grid: _native.CoreGrid, segment: StoredSegment) -> None:
    if segment.is_open:
        grid.add_columns(open_columns(segment), segment.offset_ns)
    elif path := cores_file(segment):
        try:
            grid.add_file(path, segment.offset_ns)
        except OSError as error:
            raise unreadable_file(path, error) from error


def cores_file(segment: StoredSegment) -> Path | None:
    """The counters of the cores of a sealed segment; None where they were not recorded."""
    name = f"{COUNTERS}/{CORES.id}.parquet"
    return segment.folder / name if has_file(segment, name) else None


def open_columns(segment: StoredSegment) -> dict[str, list[int]]:
    """The counters of the cores of an open segment, by column."""
    shape = shape_of(CORES)
    rows = [
        (moment.time_ns, *row)
        for moment in read_moments(segment, (CORES,))
        if (value := moment.readings[CORES.id].value) is not None
        for row in shape.rows(value)[0]
    ]
    names = ["time", *(name for name, _ in shape.tables[0].columns)]
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
