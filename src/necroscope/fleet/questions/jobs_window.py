"""The window around the end of a job: which of its hosts were recorded then, and what happened on them."""

from __future__ import annotations

import bisect
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

from necroscope.fleet.questions.jobs_gathered import NodeEvent, Span
from necroscope.model.fleet.job import Job
from necroscope.model.timestamp import SECOND_US


@cache
def job_numbers() -> dict[str, float]:
    """The numbers that decide, by name; their reasons are in the file."""
    tables = tomllib.loads(files("necroscope.fleet").joinpath("rules/jobs.toml").read_text())
    return {name: float(row["value"]) for name, row in tables.items()}


@dataclass(frozen=True, slots=True)
class Window:
    """How long before and after the end of a job an event counts."""

    before_us: int
    after_us: int

    def around(self, end_us: int) -> Span:
        """Where an event counts for a job that ended then."""
        return end_us - self.before_us, end_us + self.after_us


@dataclass(frozen=True, slots=True)
class Look:
    """What was recorded around the end of a job."""

    job: Job
    recorded: tuple[str, ...]  # of its hosts
    event: NodeEvent | None  # on one of these, the nearest to the end


def default_window(before_seconds: float | None = None) -> Window:
    """The window of the rules, or with another time before the end."""
    numbers = job_numbers()
    before = numbers["before"] if before_seconds is None else before_seconds
    return Window(round(before * SECOND_US), round(numbers["after"] * SECOND_US))


class Recording:
    """What the fleet recorded near the ends of jobs."""

    def __init__(
        self,
        window: Window,
        events: Mapping[str, Sequence[NodeEvent]],
        segments: Mapping[str, Sequence[Span]],
    ) -> None:
        self._window = window
        self._segments = {host: sorted(spans) for host, spans in segments.items()}
        self._longest = {host: max(end - begin for begin, end in spans) for host, spans in segments.items()}
        self._events = events
        self._times = {host: [event.time_us for event in rows] for host, rows in events.items()}

    def look(self, job: Job) -> Look:
        """What there is about a job whose end is known."""
        assert job.end_us is not None
        found = {host: self._nearest(host, job.end_us) for host in job.hosts}
        enough = job_numbers()["recorded"]
        recorded = tuple(
            host for host in job.hosts if found[host] or self.recorded_ratio(host, job.end_us) >= enough
        )
        events = [event for event in found.values() if event]
        nearest = min(events, key=lambda one: (_distance(one, job), one.host, one.id), default=None)
        return Look(job, recorded, nearest)

    def recorded_ratio(self, host: str, end_us: int) -> float:
        """How much of the window was recorded on a host."""
        begin, end = self._window.around(end_us)
        spans = self._segments.get(host, [])
        first = bisect.bisect_left(spans, (begin - self._longest.get(host, 0), 0))
        return overlap_us(spans[first : bisect.bisect_left(spans, (end, 0))], begin, end) / (end - begin)

    def _nearest(self, host: str, end_us: int) -> NodeEvent | None:
        begin, end = self._window.around(end_us)
        times = self._times.get(host, [])
        inside = range(bisect.bisect_left(times, begin), bisect.bisect_right(times, end))
        rows = [self._events[host][place] for place in inside]
        return min(rows, key=lambda one: (abs(one.time_us - end_us), one.id), default=None)


def overlap_us(spans: Iterable[Span], begin_us: int, end_us: int) -> int:
    """How much of a range some spans cover; they may overlap each other."""
    covered, reached = 0, begin_us
    for begin, last in sorted(spans):
        end = min(last, end_us)
        if end > reached:
            covered += end - max(begin, reached)
            reached = end
    return max(covered, 0)


def ends_together(looks: Sequence[Look], window: Window) -> list[list[Look]]:
    """Jobs that one event could hit at once: on a host of theirs they end within a window of each other."""
    leader = list(range(len(looks)))

    def find(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    by_host: dict[str, list[tuple[int, int]]] = {}
    for place, look in enumerate(looks):
        for host in look.recorded:
            by_host.setdefault(host, []).append((look.job.end_us or 0, place))
    for ends in by_host.values():
        ends.sort()
        for (one_us, one), (next_us, following) in pairwise(ends):
            if next_us - one_us <= window.before_us + window.after_us:
                leader[find(one)] = find(following)
    groups: dict[int, list[Look]] = {}
    for place, look in enumerate(looks):
        groups.setdefault(find(place), []).append(look)
    return list(groups.values())


def _distance(event: NodeEvent, job: Job) -> int:
    return abs(event.time_us - (job.end_us or 0))
