"""The samples of stretches of time, by core, process, thread and event, across segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from necroscope import _native
from necroscope.errors import NoSamplesError
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import iso_utc
from necroscope.profiles.flame import Flame, Label, Side
from necroscope.profiles.open_profile import open_profile
from necroscope.profiles.recorded_rate import sampling_rate
from necroscope.profiles.search import Search, compiled
from necroscope.store.journal import JOURNAL
from necroscope.store.segment import SEAM_NS
from necroscope.store.segment_damage import unreadable_file
from necroscope.store.store import StoredSegment, sealed_meanwhile

Split = Literal["whole", "comm", "process", "thread", "core"]

SHORTEST_SECONDS = 0.001  # of a capture with a single sample


@dataclass(frozen=True, slots=True)
class Selection(TimeRange):
    """Which samples of a range (UTC) are wanted; an empty filter means all."""

    cpus: tuple[int, ...] = ()
    processes: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    idle: bool = False  # whether samples of idle cores are counted too
    search: Search | None = None
    boot_id: str = ""  # of this boot, times are told by the recording's clock: UTC less `offset_ns`
    offset_ns: int = 0

    def touches(self, segment: StoredSegment) -> bool:
        """Whether a segment has a part of it."""
        return self.overlaps(*self.times_of(segment))

    def times_of(self, segment: StoredSegment) -> tuple[int, int]:
        """When a segment begins and ends, in the UTC of the selection."""
        shift_ns = self.offset_in(segment) - segment.offset_ns
        return segment.begin_ns + shift_ns, segment.end_ns + shift_ns

    def range_in(self, segment: StoredSegment) -> tuple[int, int]:
        """The same range on the clock of a segment."""
        offset_ns = self.offset_in(segment)
        return self.begin_ns - offset_ns, self.end_ns - offset_ns

    def offset_in(self, segment: StoredSegment) -> int:
        """What leads from the clock of a segment to UTC, also where the wall clock was set in between."""
        is_of_boot = self.boot_id and segment.boot_id == self.boot_id
        return self.offset_ns if is_of_boot else segment.offset_ns

    def query(self, segment: StoredSegment) -> _native.Query:
        """The same for the Rust core."""
        return _native.Query(
            *self.range_in(segment),
            cpus=list(self.cpus),
            processes=list(self.processes),
            threads=list(self.threads),
            events=list(self.events),
            idle=self.idle,
            search=compiled(self.search) if self.search else None,
            only_matching=bool(self.search and self.search.only_matching),
        )


@dataclass(frozen=True, slots=True)
class Window:
    """What was seen in selections. `idle` samples are counted in `samples` only if they were asked for."""

    selections: tuple[Selection, ...]  # apart from each other, with the same filters
    stacks: _native.Window
    samples: int
    idle: int
    unknown: int  # innermost frame without a name
    lost: int | None  # dropped by the kernel somewhere in the segments; None: their files do not say
    seconds: float  # of the selections that were recorded
    rates: frozenset[int]  # samples a second of a busy core, as far as the captures say

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know beside the picture."""
        idle = "counted" if any(one.idle for one in self.selections) else "left out"
        return (
            f"{self.samples:,} samples",
            f"{self.idle:,} of idle cores {idle}",
            f"{self.unknown:,} whose innermost function has no name",
            "unknown how many lost" if self.lost is None else f"{self.lost:,} lost by the kernel",
        )


def window(segments: Sequence[StoredSegment], selection: Selection, split: Split = "comm") -> Window:
    """The samples of all segments that a selection touches."""
    return windows(segments, (selection,), split)


def windows(
    segments: Sequence[StoredSegment], selections: Sequence[Selection], split: Split = "comm"
) -> Window:
    """The samples of several selections together; they must not overlap."""
    stacks = _native.Window()
    lost: int | None = 0
    near = _near_any(segments, selections)
    inside = _touched_by_any(near, selections)
    for segment in inside:
        with opened(segment) as profile:
            for selection in selections:
                if selection.touches(segment):
                    stacks.add(profile, selection.query(segment), split)
        lost = add_lost(lost, segment.description.profile.lost)
    samples, idle, unknown = stacks.totals
    seconds = sum(recorded_seconds(near, selection) for selection in selections)
    rates = frozenset(rate for rate in map(sampling_rate, inside) if rate)
    return Window(tuple(selections), stacks, samples, idle, unknown, lost, seconds, rates)


def recorded_seconds(segments: Sequence[StoredSegment], selection: Selection) -> float:
    """How much of a selection lies in segments with samples; those that follow each other are one."""
    wide = selection.widened(SEAM_NS)
    recorded_ns, until_ns = 0, wide.begin_ns - SEAM_NS
    for begin_ns, end_ns in sorted(map(wide.times_of, touched(segments, wide))):
        first_ns = until_ns if begin_ns - until_ns <= SEAM_NS else begin_ns
        inside_ns = min(end_ns, selection.end_ns) - max(first_ns, selection.begin_ns)
        recorded_ns += max(inside_ns, 0)
        until_ns = max(until_ns, end_ns)
    return recorded_ns / 1e9


def touched(segments: Sequence[StoredSegment], selection: Selection) -> list[StoredSegment]:
    """The segments with samples that a selection has a part in."""
    return _touched_by_any(segments, (selection,))


def _touched_by_any(
    segments: Sequence[StoredSegment], selections: Sequence[Selection]
) -> list[StoredSegment]:
    near = (as_it_is_now(s) for s in segments if any(one.touches(s) for one in selections))
    return [segment for segment in near if segment and segment.has_profile]


def _near_any(segments: Sequence[StoredSegment], selections: Sequence[Selection]) -> Sequence[StoredSegment]:
    """Those between the first and the last selection: many short ones need not look at days of segments."""
    if len({(one.boot_id, one.offset_ns) for one in selections}) != 1:
        return segments  # each has its own clock
    begin_ns, end_ns = min(one.begin_ns for one in selections), max(one.end_ns for one in selections)
    hull = replace(selections[0], begin_ns=begin_ns, end_ns=end_ns).widened(SEAM_NS)
    return [segment for segment in segments if hull.touches(segment)]


def as_it_is_now(segment: StoredSegment) -> StoredSegment | None:
    """The same segment, which may have been sealed since it was listed; None where retention removed it."""
    if segment.is_open and not (segment.folder / JOURNAL).exists():
        return sealed_meanwhile(segment)
    return segment if segment.folder.exists() else None


def add_lost(one: int | None, other: int | None) -> int | None:
    """The sum, unknown where one of them is."""
    return None if one is None or other is None else one + other


def require_samples(found: Window, segments: Sequence[StoredSegment]) -> Window:
    """The window, or an error that says what there is."""
    if found.samples:
        return found
    if not segments:
        raise NoSamplesError("the store has no profile", hint="necroscope import FILE adds a capture")
    if found.idle:
        raise NoSamplesError("all samples there are of idle cores", hint="--idle counts them")
    for segment in segments:
        if any(one.touches(segment) for one in found.selections) and (why := segment.description.no_profile):
            raise NoSamplesError("no samples there", hint=f"{segment.folder.name}: {why}")
    spans = f"{iso_utc(segments[0].begin_ns)} to {iso_utc(segments[-1].end_ns)}"
    raise NoSamplesError("no samples there", hint=f"the store has {len(segments)} segments, from {spans}")


def flame(found: Window, baseline: Window | None = None, *, inverted: bool = False) -> Flame:
    """The window's stacks merged into a tree, beside a baseline's where there is one."""
    parent, label, total, own, base_total, base_own, labels = found.stacks.tree(
        baseline.stacks if baseline else None, inverted
    )
    return Flame(
        parent=tuple(parent),
        label=tuple(label),
        labels=tuple(Label(*row) for row in labels),
        window=Side(tuple(total), tuple(own), max(found.seconds, SHORTEST_SECONDS)),
        baseline=Side(tuple(base_total), tuple(base_own), max(baseline.seconds, SHORTEST_SECONDS))
        if baseline
        else None,
    )


@contextmanager
def opened(segment: StoredSegment) -> Iterator[_native.Profile]:
    """The profile of a segment; damage that shows while it is read is an error that names it."""
    folder = open_profile(segment) if segment.is_open else segment.profile
    try:
        yield _native.Profile(folder)
    except OSError as error:
        raise unreadable_file(folder, error) from error
