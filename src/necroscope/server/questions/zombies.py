"""How many memory cgroups the kernel tracks, and where that leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from necroscope.diagnosis.zombies.recorded_seen import last_boot_in, recorded_seen
from necroscope.diagnosis.zombies.wall import FEWEST_SECONDS, Outlook, Wall, rate_text, reached_text
from necroscope.diagnosis.zombies.zombie_report import zombie_report
from necroscope.errors import NecroscopeError
from necroscope.server.questions.lru_cache import FEW, telling_places
from necroscope.server.questions.recorded_store import Damaged, RecordedStore
from necroscope.server.questions.selection import LATEST_US, US_NS, Range
from necroscope.signals.cgroup_counts import Count
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.store import StoredSegment

HOUR = 3600.0
HOLE_NS = 60 * 10**9  # counts are read every few seconds
KEPT = 6  # of a bucket: the first, the last, the least and the most tracked and dying

Timed = tuple[int, Count]  # UTC
Read = Callable[[StoredSegment], list[Count]]


@dataclass(frozen=True, slots=True)
class Forecast:
    """How fast the zombies grow, and when it will hurt."""

    per_hour: float
    low_per_hour: float
    high_per_hour: float
    text: str
    wall_us: int | None  # when it will hurt; None where that is not in sight


@dataclass(frozen=True, slots=True)
class Zombies:
    """Counts at some moments of a range; None marks a hole in the recording."""

    times_us: list[int]
    tracked: list[int | None]
    in_use: list[int | None]
    zombies: list[int | None]
    forecast: Forecast | None
    why_none: str  # why there is no forecast
    damaged: list[Damaged]


def ask_zombies(store: RecordedStore, span: Range, columns: int) -> Zombies:
    """The counts of a range, and the trend and the wall that `necroscope zombies -b -e` tells of it."""
    segments = store.recorded_in(span)
    inside = span.touched(segments)
    read = store.counts.whole if len(inside) <= FEW else store.counts.telling
    rows = thinned_counts(_counts_in(inside, span, read), columns)
    newest = segments[-1]
    key = (span, newest.folder, newest.end_ns)
    forecast, why_none = store.forecasts.get(key, lambda: _forecast(segments, span, read))
    return zombies_answer(rows, forecast, store.without_paths(why_none), store.damaged_in(span))


def _counts_in(segments: Sequence[StoredSegment], span: Range, read: Read) -> list[Timed]:
    """The counts of a range, by the wall clock. A segment that is damaged is a hole."""
    found = {count.time_ns + segment.offset_ns: count for segment in segments for count in read(segment)}
    begin_ns, end_ns = span.time.begin_ns, span.time.end_ns
    return sorted(row for row in found.items() if begin_ns <= row[0] < end_ns)


def thinned_counts(rows: Sequence[Timed], most: int) -> list[Timed]:
    """At most so many rows: the first and the last, and the extremes in between."""
    if len(rows) <= most:
        return list(rows)
    if most < KEPT:
        return [rows[0], rows[-1]][:most]
    buckets = most // KEPT
    edges = [place * len(rows) // buckets for place in range(buckets + 1)]
    return [
        rows[begin + place]
        for begin, end in pairwise(edges)
        for place in telling_places([count for _, count in rows[begin:end]])
    ]


def zombies_answer(
    rows: Sequence[Timed], forecast: Forecast | None, why_none: str, damaged: list[Damaged]
) -> Zombies:
    """Counts as the page wants them, with a None in every hole."""
    times: list[int] = []
    counts: list[Count | None] = []
    for time_ns, count in rows:
        if times and time_ns // US_NS - times[-1] > HOLE_NS // US_NS:
            times.append(times[-1] + 1)
            counts.append(None)
        times.append(time_ns // US_NS)
        counts.append(count)
    return Zombies(
        times_us=times,
        tracked=[count and count.tracked for count in counts],
        in_use=[count and count.in_use for count in counts],
        zombies=[count and count.dying for count in counts],
        forecast=forecast,
        why_none=why_none,
        damaged=damaged,
    )


def _forecast(segments: Sequence[StoredSegment], span: Range, read: Read) -> tuple[Forecast | None, str]:
    """The forecast, or why there is none."""
    stored, thresholds = last_boot_in(segments, span.time), load_thresholds(None)
    try:
        seen = recorded_seen(stored, span.time, thresholds, read)
    except NecroscopeError as error:  # the counts that there are can be shown all the same
        return None, error.what
    report = zombie_report(seen, thresholds)
    trend, wall = report.trend, report.wall
    text = f"tracked cgroups: {rate_text(trend)}; the wall: {reached_text(wall)}"
    if trend is None or not trend.slope.is_trend or trend.seconds < FEWEST_SECONDS:
        return None, text
    slope, wall_us = trend.slope, _wall_us(seen.time_ns, wall)
    return Forecast(slope.value * HOUR, slope.low * HOUR, slope.high * HOUR, text, wall_us), ""


def _wall_us(time_ns: int, wall: Wall) -> int | None:
    if wall.outlook is not Outlook.AHEAD or wall.seconds is None:
        return None
    reached_us = time_ns // US_NS + wall.seconds * 1e6
    return int(reached_us) if reached_us <= LATEST_US else None
