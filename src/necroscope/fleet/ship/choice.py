"""Which segments are shipped whole: those of events that are worth keeping, those beside them, or all.

The segment after an event's is there only later: it is decided anew at every run.
"""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.fleet.ship.parts import SEGMENT_NAME
from necroscope.model.timestamp import parse_compact_utc
from necroscope.store.retention import Entry

WORTH = 2  # as model.event.worth_keeping says
RECENT_NS = (
    24 * 3600 * 10**9
)  # older ones are the business of requests: a new place does not get all of the past


def around_events(entries: Sequence[Entry], now_ns: int) -> list[Entry]:
    """The sealed segments with events and those beside them; entries are of one host, in order."""
    wanted = set()
    for place, entry in enumerate(entries):
        if entry.kept >= WORTH and now_ns - entry.end_ns <= RECENT_NS:
            wanted |= {
                near
                for near in (place - 1, place, place + 1)
                if 0 <= near < len(entries) and entries[near].boot_id == entry.boot_id
            }
    return [entries[place] for place in sorted(wanted) if not entries[place].is_open]


def within(entries: Sequence[Entry], begin_us: int, end_us: int) -> list[Entry]:
    """The segments, also open ones, that have some of a range of time (UTC)."""
    return [one for one in entries if _begin_us(one) < end_us and one.end_ns // 1000 >= begin_us]


def _begin_us(entry: Entry) -> int:
    if not SEGMENT_NAME.fullmatch(entry.name):
        return entry.end_ns // 1000
    return parse_compact_utc(entry.name[:16]) // 1000
