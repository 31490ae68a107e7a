"""The seconds of windows beside quiet ones: the share of every process and kernel function in each."""

from __future__ import annotations

import tomllib
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from necroscope.diagnosis.quiet_baseline.quiet_seconds import quiet_seconds
from necroscope.errors import NoSamplesError
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS, iso_utc
from necroscope.profiles.tally import Tally, tally
from necroscope.profiles.window import Selection, touched
from necroscope.signals.thresholds import Thresholds
from necroscope.store.store import StoredSegment
from necroscope.store.stored_events import StoredEvent

Key = tuple[str, str, str]  # process, function, way


@dataclass(slots=True)
class Shares:
    """The shares of one suspect in the seconds of the windows, and in the quiet ones."""

    window: list[float]
    quiet: list[float]
    depth: float = 0.0


@dataclass(slots=True)
class Compared:
    """All seconds that are compared. Of a window it is told to which one a second belongs."""

    shares: dict[Key, Shares] = field(default_factory=dict)
    window_of: list[int] = field(default_factory=list)
    quiet: int = 0
    neighbours: list[tuple[int, int]] = field(default_factory=list)  # quiet seconds that follow each other
    core_counts: list[int] = field(default_factory=list)
    cores: set[int] = field(default_factory=set)

    @property
    def one_core(self) -> float:
        """The share that one busy core is."""
        return len(self.core_counts) / sum(self.core_counts)

    def add(self, counted: Tally, windows: dict[int, int], fullest: float, least: float) -> None:
        """Add what was counted on some cores: shares of a full second of all who have at least `least`.

        `windows` says of a start to which window it belongs. Seconds without samples were not captured.
        """
        captured = [n for n, samples in enumerate(counted.everywhere) if samples]
        inside = [n for n in captured if counted.starts_ns[n] in windows]
        quiet = [n for n in captured if counted.starts_ns[n] not in windows]
        before, quiet_before = len(self.window_of), self.quiet
        for row in counted.rows(max(int(least * fullest * len(windows)), 1)):
            if not is_entry(row.function):
                new = Shares([0.0] * before, [0.0] * quiet_before, row.depth)
                shares = self.shares.setdefault((row.process, row.function, row.way), new)
                shares.window += [row.counts[n] / fullest for n in inside]
                shares.quiet += [row.counts[n] / fullest for n in quiet]
        self.window_of += [windows[counted.starts_ns[n]] for n in inside]
        self.quiet += len(quiet)
        for shares in self.shares.values():  # those that did not run here
            shares.window += [0.0] * (len(self.window_of) - len(shares.window))
            shares.quiet += [0.0] * (self.quiet - len(shares.quiet))
        starts = [counted.starts_ns[n] for n in quiet]
        follows = [n for n in range(1, len(starts)) if starts[n] - starts[n - 1] == SECOND_NS]
        self.neighbours += [(quiet_before + n - 1, quiet_before + n) for n in follows]


def compare(
    segments: Sequence[StoredSegment],
    windows: Sequence[Selection],
    events: Sequence[StoredEvent],
    thresholds: Thresholds,
) -> Compared:
    """Count the seconds of some windows and the quiet ones around them, each on its window's cores.

    Only who had `culprit.share` of a core in the windows, or might have had, is counted. Which ones these
    are does not depend on where in time they ran, so that nothing is decided by looking at the window.
    """
    own = _of_one_boot(segments, windows)
    host = own[0].host, own[0].boot_id
    there = [e.event for e in events if (e.segment.host, e.segment.boot_id) == host]
    # By the segment that has it: the wall clock may have been set in between.
    spans = [TimeRange(*one.range_in(next(iter(touched(own, one)), own[0]))) for one in windows]
    compared = Compared()
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, window in enumerate(windows):
        groups[window.cpus].append(number)
    for cores, numbers in groups.items():
        compared.cores |= set(cores)
        mine = [spans[n] for n in numbers]
        quiet = quiet_seconds(own, mine, there, cores, thresholds)
        # Pooled over several groups of cores, less in each may still be enough.
        share = thresholds["culprit.share"] / len(groups)
        _count(compared, own, dict(zip(numbers, mine, strict=True)), quiet, (cores, share))
    if not compared.window_of:
        raise NoSamplesError("no samples there", hint="necroscope timeline shows what is recorded")
    return compared


def _count(
    compared: Compared,
    segments: Sequence[StoredSegment],
    spans: dict[int, TimeRange],
    quiet: Sequence[int],
    wanted: tuple[tuple[int, ...], float],
) -> None:
    cores, share = wanted
    inside = {start_ns: number for number, span in spans.items() for start_ns in _seconds_of(span)}
    starts = sorted([*inside, *_apart(quiet, sorted(inside))])
    counted = tally(segments, starts, cores)
    online = max(s.description.host.cores_online for s in segments)
    count = len(cores) or online or 1
    compared.core_counts.append(count)
    # A hardware clock does not sample a core while it is idle: how full a second can be, the others tell.
    elsewhere = max(counted.everywhere) * count / online if online else 0.0
    compared.add(counted, inside, max(1.0, elsewhere, *counted.here), share / count)


def _seconds_of(span: TimeRange) -> range:
    """The whole seconds of a window, from its beginning; at least one."""
    whole = max((span.end_ns - span.begin_ns) // SECOND_NS, 1)
    return range(span.begin_ns, span.begin_ns + whole * SECOND_NS, SECOND_NS)


def _apart(quiet: Sequence[int], seconds: Sequence[int]) -> list[int]:
    """The quiet seconds beside those of windows: a window shorter than a second is counted as one."""
    return [
        start
        for start in quiet
        if bisect_left(seconds, start + SECOND_NS) == bisect_right(seconds, start - SECOND_NS)
    ]


def _of_one_boot(segments: Sequence[StoredSegment], windows: Sequence[Selection]) -> list[StoredSegment]:
    """The segments of the boot that the first window lies in; of imported captures, those it touches."""
    near = [segment for window in windows[:1] for segment in touched(segments, window)]
    if not near:
        when = f"{iso_utc(windows[0].begin_ns)} to {iso_utc(windows[0].end_ns)}" if windows else ""
        raise NoSamplesError(f"no samples there: {when}", hint="necroscope timeline shows what is recorded")
    first = near[0]
    if not first.boot_id:
        return near
    return [s for s in segments if (s.host, s.boot_id) == (first.host, first.boot_id)]


@cache
def _entry_functions() -> tuple[str, ...]:
    text = files("necroscope.diagnosis").joinpath("rules/entry_functions.toml").read_text()
    return tuple(name for names in tomllib.loads(text).values() for name in names)


@cache
def is_entry(function: str) -> bool:
    """Whether everything goes through a kernel function, so that it says nothing."""
    return any(
        function.startswith(name[:-1]) if name.endswith("*") else function == name
        for name in _entry_functions()
    )
