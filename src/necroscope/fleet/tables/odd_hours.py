"""Hours far from now: a host whose clock is wrong has some, one that lies could fill the index with them."""

from __future__ import annotations

from necroscope.fleet.tables.columns import TIMES
from necroscope.fleet.tables.inboxes import Batch
from necroscope.fleet.tables.index import ALWAYS, HOUR_US, Index
from necroscope.fleet.tables.parts import Part

NEAR_HOURS = 366 * 24  # before now: all tables of so many hours have 10 MB of the 16 of an index
MAX_ODD_HOURS = 1000  # of all hosts together; wrong clocks mostly stand at 1970


def reject_odd_hours(batch: Batch, index: Index, now_us: int) -> Batch:
    """Return the batch without the parts that would add more odd hours to the index than it may have."""
    now = now_us // HOUR_US
    of_parts = {part.name: odd for part in batch.parts if (odd := _odd_hours(part, now))}
    if not of_parts:
        return batch
    known = {file.begin_us // HOUR_US for file in index.files if file.hour != ALWAYS}
    known = {hour for hour in known if _is_odd(hour, now)}
    reasons = {}
    for name, odd in of_parts.items():
        if odd <= known or len(known | odd) <= MAX_ODD_HOURS:
            known |= odd
        else:
            reasons[name] = f"it is not of the last year, and {MAX_ODD_HOURS:,} such hours are there"
    return batch.reject(reasons)


def _odd_hours(part: Part, now: int) -> set[int]:
    hours = {
        row[TIMES[table]] // HOUR_US for table, rows in part.rows.items() if table in TIMES for row in rows
    }
    return {hour for hour in hours if _is_odd(hour, now)}


def _is_odd(hour: int, now: int) -> bool:
    return not now - NEAR_HOURS <= hour <= now + 1
