"""Moments as people write them: `10m` (ago), `14:00`, `2026-04-15T10:02:11Z`, an epoch, `+70s`."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from necroscope.cli.arguments import duration
from necroscope.errors import UsageError
from necroscope.model.quantities import SECONDS_PER
from necroscope.store.store import StoredSegment

AGO = re.compile(rf"\d+(?:\.\d+)?(?:{'|'.join(unit for unit in SECONDS_PER if unit)})")
EVENT_ID = re.compile(r"[a-z]+(?:-[a-z]+)*-\d{8}T\d{6}\.\d{3}Z-\d+")
# Times are 64-bit nanoseconds, and must stay so when a window or an offset is taken off.
EARLIEST_NS = int(datetime(1900, 1, 1, tzinfo=UTC).timestamp()) * 10**9
LATEST_NS = int(datetime(2200, 1, 1, tzinfo=UTC).timestamp()) * 10**9
CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment: in UTC, or, with a plus sign, after the beginning of what is recorded."""

    ns: int
    after_begin: bool = False

    def utc_ns(self, segments: Sequence[StoredSegment]) -> int:
        """The moment in UTC."""
        if not self.after_begin:
            return self.ns
        if not segments:
            raise UsageError("there is no recording that a time with a plus sign could count from")
        return min(segments[0].begin_ns + self.ns, LATEST_NS)


def moment(text: str) -> Moment:
    """Understand a moment; raises ArgumentTypeError where it cannot. A far future comes back as 2200."""
    found = _moment(text)
    if found.ns < EARLIEST_NS:
        raise argparse.ArgumentTypeError(f"'{text}' is too long ago: before 1900")
    return found if found.ns <= LATEST_NS else Moment(LATEST_NS, found.after_begin)


def _moment(text: str) -> Moment:
    word = text.strip()
    try:
        if word.startswith("+"):
            return Moment(int(duration(word[1:]) * 1e9), after_begin=True)
        if word == "now":
            return Moment(time.time_ns())
        if AGO.fullmatch(word):
            return Moment(time.time_ns() - int(duration(word) * 1e9))
        if match := CLOCK.fullmatch(word):
            return Moment(_clock(int(match[1]), int(match[2]), float(match[3] or 0)))
        if re.fullmatch(r"\d{9,}(?:\.\d+)?", word):
            whole, _, fraction = word.partition(".")
            return Moment(int(whole) * 10**9 + int(fraction[:9].ljust(9, "0") or 0))
        day = datetime.fromisoformat(word)
        return Moment(_nanoseconds(day if day.tzinfo else day.astimezone()))
    except (ValueError, OverflowError, argparse.ArgumentTypeError) as error:
        example = "10m, 14:00, 2026-04-15T10:02:11Z, 1776247331 or +70s"
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as {example}") from error


@dataclass(frozen=True, slots=True)
class EventName:
    """The id of a recorded event."""

    id: str

    @property
    def kind(self) -> str:
        """What kind of event it is: `nic-reset`."""
        return self.id.rsplit("-", 2)[0]


def moment_or_event(text: str) -> Moment | EventName:
    """A moment, or the id of an event such as `nic-reset-20260415T100211.250Z-1208`."""
    return EventName(text) if EVENT_ID.fullmatch(text.strip()) else moment(text)


def event_name(text: str) -> EventName:
    """The id of an event, and nothing else."""
    if not EVENT_ID.fullmatch(text.strip()):
        example = "nic-reset-20260415T100211.250Z-1208"
        raise argparse.ArgumentTypeError(f"'{text}' is not the id of an event such as {example}")
    return EventName(text.strip())


def span(text: str) -> tuple[Moment, Moment]:
    """`T..T`: two moments."""
    begin, dots, end = text.partition("..")
    if not dots:
        raise argparse.ArgumentTypeError(f"'{text}' is not two times with .. between them")
    return moment(begin), moment(end)


def _clock(hour: int, minute: int, second: float) -> int:
    """The last time the clock on the wall showed this, in the machine's own time zone."""
    now = datetime.now().astimezone()
    then = now.replace(hour=hour, minute=minute, second=int(second), microsecond=int(second % 1 * 1e6))
    return _nanoseconds(then if then <= now else then - timedelta(days=1))


def _nanoseconds(day: datetime) -> int:
    whole = day.astimezone(UTC).replace(microsecond=0)
    return int(whole.timestamp()) * 10**9 + day.microsecond * 1000
