"""Which host and time a question is about, and which samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from necroscope.errors import NoSamplesError, UsageError
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_US, iso_utc
from necroscope.profiles.search import Search
from necroscope.profiles.window import Selection, Window, require_samples, touched
from necroscope.store.store import StoredSegment

US_NS = 1000
LATEST_US = 7_258_118_400 * SECOND_US  # the year 2200: nanoseconds must stay 64-bit numbers
LONGEST_SEARCH = 200
MOST_NAMES = 100
LONGEST_NAME = 255

By = Literal["comm", "process", "thread", "core", "whole"]
Format = Literal["svg", "folded", "speedscope.json", "pb.gz", "html"]
LONGEST_SECONDS = 7200  # of samples that one question may count


@dataclass(frozen=True, slots=True)
class Range:
    """A stretch `begin_us <= time < end_us` of one host's time, in UTC."""

    host: str
    begin_us: int
    end_us: int

    def __post_init__(self) -> None:
        if not 0 <= self.begin_us <= LATEST_US or not 0 <= self.end_us <= LATEST_US:
            raise UsageError("the range is not between 1970 and 2200", hint="times are microseconds in UTC")
        if self.begin_us >= self.end_us:
            raise UsageError("the range ends before it begins", hint="begin_us must be less than end_us")

    @property
    def time(self) -> TimeRange:
        """The range without the host."""
        return TimeRange(self.begin_us * US_NS, self.end_us * US_NS)

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.end_us - self.begin_us) / SECOND_US

    @property
    def words(self) -> str:
        """The range in a sentence."""
        return f"from {iso_utc(self.time.begin_ns)} to {iso_utc(self.time.end_ns)}"

    def touched(self, segments: Sequence[StoredSegment]) -> list[StoredSegment]:
        """The segments that have a part of it."""
        return [segment for segment in segments if segment.overlaps(self.time)]

    def require_at_most(self, seconds: int, what: str) -> None:
        """An error where it is longer than what can be asked for."""
        if self.seconds > seconds:
            raise UsageError(f"{what} is of {seconds} s at most", hint="choose a shorter range")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which samples count; an empty filter means all."""

    cpus: tuple[int, ...] = ()
    processes: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    idle: bool = False
    search: str = ""  # in stacks and in names; empty: nothing is looked for
    regexp: bool = False
    only_matching: bool = False  # samples without a match are left out

    def __post_init__(self) -> None:
        if len(self.search) > LONGEST_SEARCH:
            raise UsageError(f"a search has {LONGEST_SEARCH} characters at most")
        for names in (self.processes, self.threads, self.events):
            if len(names) > MOST_NAMES or any(len(name) > LONGEST_NAME for name in names):
                raise UsageError(f"a filter has {MOST_NAMES} names of {LONGEST_NAME} characters at most")


@dataclass(frozen=True, slots=True)
class Tree:
    """How a tree of stacks is made, and what it is compared with."""

    by: By = "comm"
    inverted: bool = False
    against: str = ""  # empty, `quiet`, or BEGIN_US..END_US


def asked_selection(span: Range, filters: Filters) -> Selection:
    """The range and the filters as a selection."""
    search = Search(filters.search, filters.regexp, filters.only_matching) if filters.search else None
    return Selection(
        span.time.begin_ns,
        span.time.end_ns,
        cpus=filters.cpus,
        processes=filters.processes,
        threads=filters.threads,
        events=filters.events,
        idle=filters.idle,
        search=search,
    )


def require_some(found: Window, segments: Sequence[StoredSegment]) -> None:
    """NoSamplesError in the words of the page, where there is nothing to show."""
    if not found.samples and found.idle:
        raise NoSamplesError("all samples there are of idle cores", hint="show idle cores to count them")
    require_samples(found, segments)


def require_profile(segments: Sequence[StoredSegment], selection: Selection) -> None:
    """NoSamplesError where nobody took samples then: empty cells would say that nothing ran."""
    if touched(segments, selection):
        return
    reasons = (s.description.no_profile for s in segments if selection.touches(s) and not s.has_profile)
    why = next((reason for reason in reasons if reason), "the recorder had no samples then")
    raise NoSamplesError("no samples there", hint=why)
