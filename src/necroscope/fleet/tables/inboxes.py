"""What waits in the inboxes of all hosts: listed, and read many at a time, since each part is small."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

from necroscope.fleet.place.place import BadObjectError, Place, Stored
from necroscope.fleet.tables.columns import TIMES
from necroscope.fleet.tables.index import ALWAYS, Index
from necroscope.fleet.tables.parts import (
    MAX_FACTS,
    MAX_FACTS_BYTES,
    MAX_PART_BYTES,
    Part,
    RejectedError,
    parse_part,
    parse_section,
    part_order,
)
from necroscope.model.timestamp import HOUR_US

NEAR_HOURS = 366 * 24  # before now: all tables of so many hours have 10 MB of the 16 of an index
MAX_ODD_HOURS = 1000  # of all hosts together; wrong clocks mostly stand at 1970
PARTS_AT_ONCE = 20_000  # and no more bytes than this: what is held in memory
BYTES_AT_ONCE = 64 << 20
HELD_AT_ONCE = 256 << 20  # bytes that the rows of a batch take: 20,000 segments have 60 MB
ROW_BYTES = 1000  # of a row in memory, about, besides its text


@dataclass(frozen=True, slots=True)
class Batch:
    """Parts that could be read, and the names of those that could not, with the reason."""

    parts: tuple[Part, ...]
    rejected: dict[str, str]
    sections: dict[str, list[dict[str, Any]]]  # the rows of those that were not known
    left: tuple[Stored, ...] = ()  # not read yet: what was read takes too much memory

    def reject(self, reasons: Mapping[str, str]) -> Batch:
        """Return the batch without some parts, which it names as rejected."""
        parts = tuple(part for part in self.parts if part.name not in reasons)
        return replace(self, parts=parts, rejected={**self.rejected, **reasons})


def waiting_parts(place: Place, threads: ThreadPoolExecutor) -> list[Stored]:
    """Everything in all inboxes, in the order of the times in their names."""
    inboxes = [f"{of}/{one}/inbox/" for of in ("hosts", "clusters") for one in place.folders(f"{of}/")]
    found = [one for some in threads.map(lambda inbox: _in_inbox(place, inbox), inboxes) for one in some]
    return sorted(found, key=lambda one: (part_order(one.name), one.name))


def batches(stored: Sequence[Stored]) -> Iterator[list[Stored]]:
    """So many at a time as fit into memory; one at least."""
    batch: list[Stored] = []
    size = 0
    for one in stored:
        if batch and (len(batch) >= PARTS_AT_ONCE or size + one.bytes > BYTES_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += one.bytes
    if batch:
        yield batch


def read_batch(
    place: Place, batch: Sequence[Stored], known: frozenset[str], threads: ThreadPoolExecutor
) -> Batch:
    """Read and check as many as fit into memory, one at least; facts of `known` sections are not read."""
    reader = _Reader(place, known)
    parts, rejected, left = [], {}, []
    for one, result in zip(batch, threads.map(reader.read, batch), strict=True):
        if isinstance(result, str):
            rejected[one.name] = result
        elif isinstance(result, Part):
            parts.append(result)
        elif result is not None:
            left.append(result)
    return Batch(tuple(parts), rejected, reader.sections, tuple(left))


def _in_inbox(place: Place, inbox: str) -> list[Stored]:
    """Return what is in an inbox; the inbox itself if it is a link: it is rejected as a part that is one."""
    try:
        return list(place.below(inbox))
    except BadObjectError:
        return [Stored(inbox, 0, 0)]


@dataclass(slots=True)
class _Reader:
    """Reads parts, several at a time, and counts what their rows take."""

    place: Place
    known: frozenset[str]
    sections: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    held_bytes: int = 0
    # Parsed JSON takes twenty times its bytes until it is checked: of only one at a time. It costs no time,
    # since only one thread can parse anyway.
    parsing: Lock = field(default_factory=Lock)

    def read(self, stored: Stored) -> Part | str | Stored | None:
        """Return a part, or why it is not one; itself if it must wait, None if it is gone."""
        if self.held_bytes > HELD_AT_ONCE:
            return stored
        if stored.bytes > MAX_PART_BYTES:
            return f"it is too large: {stored.bytes} bytes"
        try:
            content = self.place.read(stored.name, MAX_PART_BYTES)
            if content is None:
                return None
            with self.parsing:
                part = parse_part(stored.name, content)
                self._hold(content, sum(map(len, part.rows.values())))
            self._read_sections(part)
        except RejectedError as error:
            return str(error)
        except BadObjectError as error:
            return str(RejectedError(error.what))
        return part

    def _read_sections(self, part: Part) -> None:
        facts_left, bytes_left = MAX_FACTS, MAX_FACTS_BYTES
        for section, id in part.sections.items():
            if id in self.known or id in self.sections:
                continue
            content = self.place.read(f"hosts/{part.host}/blobs/{id}", bytes_left)
            with self.parsing:
                rows = parse_section(section, id, content, facts_left)
                self._hold(content or b"", len(rows))
                self.sections[id] = rows
            facts_left -= len(rows)
            bytes_left -= len(content or b"")

    def _hold(self, content: bytes, rows: int) -> None:
        self.held_bytes += len(content) + rows * ROW_BYTES


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
