"""What hosts have shipped, into tables: `necroscope fleet ingest`.

Parts are read from all inboxes and checked; their rows go into new files of the hours they belong to; then
one index takes the place of the other. A part is removed only when an index that was read from the place has
its rows. So a kill at any moment loses nothing: what was not removed is read again, and a row that is there
already is not added. Two at once cannot be: see `claim`.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import groupby
from typing import Any

import pyarrow as pa

from necroscope.errors import StoreError
from necroscope.fleet.place.place import BadObjectError, Place, Stored
from necroscope.fleet.tables.add_rows import UNFIT, Adding, Change, Known, arrow_tables
from necroscope.fleet.tables.claim import Claim, claimed
from necroscope.fleet.tables.columns import TABLES
from necroscope.fleet.tables.drop_old import blobs_beyond, hours_beyond, outdated_files, remove_all
from necroscope.fleet.tables.inboxes import Batch, batches, read_batch, reject_odd_hours, waiting_parts
from necroscope.fleet.tables.index import (
    FILE,
    INDEX,
    MAX_INDEX_BYTES,
    DamagedIndexError,
    Index,
    TableFile,
    index_bytes,
    parse_index,
)
from necroscope.fleet.tables.parquet import decoded
from necroscope.fleet.tables.parts import Part, RejectedError
from necroscope.model.fleet.ingested import Ingested, Removed
from necroscope.model.timestamp import HOUR_US

READ_AT_ONCE = 16
MOST_REJECTED = 1000  # are named in the index
EARLIEST_US = 1_577_836_800 * 10**6  # 2020: no clock that is right was before


def ingest(
    place: Place,
    keep_us: int | None = None,
    wait_seconds: float = 300.0,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Ingested:
    """One round over all inboxes; `tell` hears how many parts are done.

    StoreHeldError: another ingest is at work for longer than we wait. PlaceError: the place is away. Whatever
    is raised, nothing is lost.
    """
    began = time.monotonic()
    with claimed(place, wait_seconds) as claim, ThreadPoolExecutor(READ_AT_ONCE) as threads:
        work = _Round(place, claim, threads)
        waiting = waiting_parts(place, threads)
        done = 0
        for batch in batches(waiting):
            left: Sequence[Stored] = batch
            while left:
                done += len(left)
                left = work.take_in(left)
                done -= len(left)
                tell(done, len(waiting))
        work.forget_rejected({stored.name for stored in waiting})
        work.drop(keep_us)
        return replace(work.result, seconds=round(time.monotonic() - began, 3))


class _Round:
    """The index as it was read from the place last, and what was done so far."""

    def __init__(self, place: Place, claim: Claim, threads: ThreadPoolExecutor) -> None:
        self._place, self._claim, self._threads = place, claim, threads
        self._adding = Adding(place)
        self.result = Ingested()
        self._index = self._open()

    def take_in(self, stored: Sequence[Stored]) -> Sequence[Stored]:
        """Move parts from their inboxes into the tables; return those that did not fit into memory."""
        known = self._adding.known(self._index)
        batch = read_batch(self._place, stored, known.sections, self._threads)
        batch = reject_odd_hours(batch, self._index, self._claim.now_us)
        batch, tables = _tables_of(batch, known)
        changes = self._adding.add(self._index, tables)
        names = {one.name for one in stored} - {one.name for one in batch.left}
        rejected = {name: why for name, why in self._index.rejected.items() if name not in names}
        self._put(_changed(self._index, changes, {**rejected, **batch.rejected}, self._claim.now_us))
        parts = remove_all(self._place, [part.name for part in batch.parts], self._threads)
        self._count(batch, changes, parts)
        return batch.left

    def forget_rejected(self, waiting: set[str]) -> None:
        """What is not in any inbox any more needs not be told."""
        rejected = {
            name: why
            for name, why in self._index.rejected.items()
            if name in waiting or (name.startswith("tables/") and self._place.size(name) is not None)
        }
        self._put(replace(self._index, rejected=rejected))

    def drop(self, keep_us: int | None) -> None:
        """Hours that are too old leave the index; what no index names is removed."""
        now_us = self._claim.now_us
        old = hours_beyond(self._index, keep_us, now_us) if keep_us is not None else []
        outdated = outdated_files(self._place, self._index, now_us)
        blobs = []
        if keep_us is not None:
            blobs = blobs_beyond(outdated, self._place, self._adding, self._index, now_us - keep_us)
        blobs_removed = remove_all(self._place, blobs, self._threads)  # first: the file says which
        files_removed = remove_all(self._place, outdated, self._threads)
        gone = {file.name: now_us for file in old}
        self._put(
            replace(
                self._index,
                files=tuple(file for file in self._index.files if file.name not in gone),
                replaced={
                    name: since
                    for name, since in {**self._index.replaced, **gone}.items()
                    if name not in outdated
                },
            )
        )
        removed = replace(self.result.removed, hours=len(old), files=files_removed, blobs=blobs_removed)
        self.result = replace(self.result, removed=removed)

    def _open(self) -> Index:
        try:
            content = self._place.read(INDEX, MAX_INDEX_BYTES)
            if content is not None:
                return parse_index(content)
            if next(iter(self._place.below("tables/")), None) is None:
                return Index()
        except (DamagedIndexError, BadObjectError):
            pass
        self.result = replace(self.result, made_anew=True)
        self._index = Index()
        self._put(index_of_tables(self._place, self._adding, self._claim.now_us))
        return self._index

    def _put(self, index: Index) -> None:
        """Let an index take the place of the one before, and see that it did."""
        if index == self._index:
            return
        content = index_bytes(replace(index, made_us=time.time_ns() // 1000))
        if len(content) > MAX_INDEX_BYTES:
            what = f"{INDEX} would be larger than {MAX_INDEX_BYTES:,} bytes, and nobody could read it"
            raise StoreError(what, hint="necroscope fleet ingest --keep 90d removes older hours")
        self._claim.confirm()
        self._place.write(INDEX, content)
        if self._place.read(INDEX, MAX_INDEX_BYTES) != content:
            hint = "nothing is lost: what hosts have sent stays until it is in the tables"
            raise StoreError(f"{INDEX} is not what was written: somebody else writes it", hint=hint)
        self._index = parse_index(content)

    def _count(self, batch: Batch, changes: Sequence[Change], removed: int) -> None:
        added = Counter(self.result.added) + Counter(
            {table: sum(one.added for one in changes if one.table == table) for table in _tables(changes)}
        )
        odd = Counter(part.host for part in batch.parts if _has_odd_time(part, self._claim.now_us))
        self.result = replace(
            self.result,
            parts=self.result.parts + len(batch.parts),
            added=dict(added),
            rejected={**self.result.rejected, **batch.rejected},
            odd_times=dict(Counter(self.result.odd_times) + odd),
            hours_written=self.result.hours_written + sum(one.after is not None for one in changes),
            removed=Removed(parts=self.result.removed.parts + removed),
        )


def _rows(batch: Batch, known: Known) -> Mapping[str, list[dict[str, Any]]]:
    """All rows of a batch by table; of tables without hours only those that are not there yet."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for part in batch.parts:
        for table, some in part.rows.items():
            rows.setdefault(table, []).extend(some)
    if "fact_sets" in rows:
        rows["fact_sets"] = [row for row in rows["fact_sets"] if row["facts"] not in known.facts]
        ids = dict.fromkeys(id for part in batch.parts for id in part.sections.values())
        rows["sections"] = [row for id in ids for row in batch.sections.get(id, ())]
    return rows


def _tables_of(batch: Batch, known: Known) -> tuple[Batch, dict[str, pa.Table]]:
    """Return the rows of a batch as tables, and the batch without parts whose values do not fit."""
    try:
        return batch, arrow_tables(_rows(batch, known))
    except UNFIT:
        batch = batch.reject({part.name: why for part in batch.parts if (why := _why_unfit(part, batch))})
        return batch, arrow_tables(_rows(batch, known))


def _why_unfit(part: Part, batch: Batch) -> str:
    sections = [row for id in part.sections.values() for row in batch.sections.get(id, ())]
    try:
        arrow_tables({**part.rows, "sections": sections})
    except UNFIT as error:
        return str(RejectedError(str(error)))
    return ""


def _changed(index: Index, changes: Sequence[Change], rejected: Mapping[str, str], now_us: int) -> Index:
    real = [change for change in changes if change.after is not None]
    before = {file.name for change in real for file in change.before}
    files = [file for file in index.files if file.name not in before]
    files += [change.after for change in real if change.after is not None]
    return replace(
        index,
        files=tuple(sorted(files, key=lambda file: file.name)),
        rejected=dict(sorted(rejected.items())[:MOST_REJECTED]),
        replaced={**index.replaced, **dict.fromkeys(before, now_us)},
    )


def _tables(changes: Sequence[Change]) -> set[str]:
    return {change.table for change in changes}


def _has_odd_time(part: Part, now_us: int) -> bool:
    """Whether a segment's clock is in doubt: not synchronised, an hour ahead, or years behind."""
    times = [row["begin_us"] for row in part.rows.get("segments", ())]
    return bool(times) and (
        not part.is_synchronised or max(times) > now_us + HOUR_US or min(times) < EARLIEST_US
    )


def index_of_tables(place: Place, adding: Adding, now_us: int) -> Index:
    """Rebuild the index from the tables that exist, for when it is damaged or was removed.

    There may be several files of one hour, some of them outdated. The hour is all their rows, each once,
    since rows are only ever added. Files that cannot be read are listed as rejected.
    """
    found, rejected = [], {}
    for stored in place.below("tables/"):
        try:
            found.append(_table_file(stored.name, place.read(stored.name)))
        except (RejectedError, BadObjectError) as error:
            rejected[stored.name] = str(error)
    files: list[TableFile] = []
    replaced: dict[str, int] = {}
    for (table, hour), group in groupby(sorted(found, key=_place_of), _place_of):
        before = list(group)
        after = adding.join(table, hour, before).after if len(before) > 1 else before[0]
        files += [after] if after else []
        replaced |= {file.name: now_us for file in before if file != after}
    return Index(now_us, tuple(sorted(files, key=lambda file: file.name)), rejected, replaced)


def _place_of(file: TableFile) -> tuple[str, str]:
    return file.table, file.hour


def _table_file(name: str, content: bytes | None) -> TableFile:
    """Return the entry of a file. RejectedError if it is not one of ours."""
    match = FILE.fullmatch(name)
    if not match or match["table"] not in TABLES or content is None:
        raise RejectedError("it is not a file of a table")
    digest = hashlib.sha256(content).hexdigest()
    if digest[:16] not in name:
        raise RejectedError("its content is not what its name says: it is damaged")
    try:
        rows = decoded(match["table"], content).num_rows
    except pa.ArrowException as error:
        raise RejectedError(f"it is damaged: {error}") from error
    return TableFile(match["table"], match["hour"], name, rows, len(content), digest)
