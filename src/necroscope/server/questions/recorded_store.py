"""The segments of a store by host, listed again at most once a second."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING

from necroscope.diagnosis.diagnose_range import Explanation
from necroscope.errors import NothingRecordedError, StoreError
from necroscope.model.timestamp import iso_utc, parse_compact_utc
from necroscope.model.visible_text import LINES, visible_text
from necroscope.server.questions.failure import without_paths
from necroscope.server.questions.lru_cache import LruCache, SegmentCounts, SegmentSeconds
from necroscope.server.questions.selection import Range
from necroscope.sources.cores import CORES
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.store.followed_journals import FollowedJournals
from necroscope.store.journal import JOURNAL
from necroscope.store.segment_damage import damaged_segment
from necroscope.store.store import DESCRIPTION, Damage, Store, StoredSegment, read_segment
from necroscope.store.stored_events import StoredEvent

if TYPE_CHECKING:
    from necroscope.server.questions.zombies import Forecast

LISTED_SECONDS = 1.0
SEGMENTS_KEPT = 1500  # two days of one host; some 20 KiB each
IN_THE_STORE = "look for links and folders in the store that cannot be opened"
FOLDERS = ("counters", "profile")  # of a segment
LONGEST_NS = 600 * 10**9  # of a segment whose description is lost

Signature = tuple[tuple[int, int, int], ...]  # inode, size and time of files
LARGEST_DESCRIPTION_BYTES = 16 << 20  # thousands of times what a recorder writes


@dataclass(frozen=True, slots=True)
class Damaged:
    """What could not be read, and what to do about it."""

    what: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Listing:
    """What was there when the store was listed last."""

    at: float
    hosts: Mapping[str, tuple[StoredSegment, ...]]  # the host with the newest second first
    damaged: tuple[Damage, ...]


NOTHING_YET = _Listing(float("-inf"), MappingProxyType({}), ())


class RecordedStore:
    """A store that many threads ask; descriptions that did not change are not read again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._fetched: tuple[Path, ...] = ()  # stores with what came from other hosts
        self.seconds = SegmentSeconds()
        self.explanations: LruCache[tuple[Explanation | None, list[Damage]]] = LruCache(64)
        self.queue_cores: LruCache[int | None] = LruCache(4096)  # by event
        self.forecasts: LruCache[tuple[Forecast | None, str]] = LruCache(8)
        self.events: LruCache[list[StoredEvent]] = LruCache(SEGMENTS_KEPT)
        self.counts = SegmentCounts()
        self.journals = FollowedJournals((CORES, MEMORY_CGROUPS))
        self._remembered: dict[Path, tuple[Signature, StoredSegment]] = {}
        self._listing = NOTHING_YET
        self._lock = Lock()

    def hosts(self) -> Mapping[str, tuple[StoredSegment, ...]]:
        """The segments of every host, the oldest first; the host with the newest second first."""
        return self._listed().hosts

    @property
    def damaged(self) -> tuple[Damage, ...]:
        """What could not be read."""
        return self._listed().damaged

    def segments_of(self, host: str) -> list[StoredSegment]:
        """All segments of a host, imported captures too; NothingRecordedError where there are none."""
        found = self.hosts().get(host)
        if not found:
            raise NothingRecordedError("there is no recording of this host", hint="/api/hosts lists them")
        return list(found)

    def also_in(self, root: Path) -> None:
        """Look at once, and from now on, into another store, too: of hosts by the names of their folders."""
        with self._lock:
            self._fetched = tuple(dict.fromkeys((*self._fetched, root)))
            self._listing = NOTHING_YET

    def recorded_in(self, span: Range) -> list[StoredSegment]:
        """The recorded segments of a host; NothingRecordedError where a range has no part of any."""
        stored = [segment for segment in self.segments_of(span.host) if segment.boot_id]
        if not span.touched(stored):
            raise NothingRecordedError(f"nothing was recorded {span.words}", hint=_what_there_is(stored))
        return stored

    def damaged_in(self, span: Range, more: Sequence[Damage] = ()) -> list[Damaged]:
        """What could not be read of a range, and what else turned out to be damaged."""
        own = {segment.folder.parent for segment in self.hosts().get(span.host, ())}
        own |= {Store(root).host_folder(span.host) for root in (self.root, *self._fetched)}
        listed = [d for d in self.damaged if own & {d.folder, d.folder.parent} and _may_be_in(d, span)]
        return self.describe_damage([*listed, *more])

    def describe_damage(self, damaged: Sequence[Damage]) -> list[Damaged]:
        """Damage in words, each segment once; where the store lies is nobody's business."""
        first = {damage.folder: damage.error for damage in reversed(damaged)}
        return [
            Damaged(self.without_paths(error.what), self.without_paths(error.hint))
            for _, error in sorted(first.items())
        ]

    def without_paths(self, text: str) -> str:
        """Return what went wrong without the places of the store and of what was fetched."""
        return without_paths(text, (self.root, *self._fetched))

    def _listed(self) -> _Listing:
        with self._lock:
            if time.monotonic() - self._listing.at >= LISTED_SECONDS:
                self._listing = self._list()
            return self._listing

    def _list(self) -> _Listing:
        stores = [Store(root, read=self._read) for root in (self.root, *self._fetched)]
        try:
            found = _each_once([segment for store in stores for segment in store.segments()])
        except OSError as error:  # a link to itself, a disk that fails
            raise StoreError(f"the store cannot be listed: {error.strerror}", hint=IN_THE_STORE) from error
        there = {segment.folder for segment in found}
        self._remembered = {folder: known for folder, known in self._remembered.items() if folder in there}
        by_host: dict[str, list[StoredSegment]] = {}
        for segment in found:
            # As it is shown and asked for.
            by_host.setdefault(visible_text(segment.host, LINES), []).append(segment)
        newest_first = sorted(by_host, key=lambda host: (-max(s.end_ns for s in by_host[host]), host))
        hosts = {host: tuple(by_host[host]) for host in newest_first}
        damaged = tuple(damage for store in stores for damage in store.damaged)
        return _Listing(time.monotonic(), MappingProxyType(hosts), damaged)

    def _read(self, folder: Path) -> StoredSegment:
        signature = _signature(folder)
        known = self._remembered.get(folder)
        if known and known[0] == signature:
            return known[1]
        require_files(folder)
        segment = read_segment(folder, self.journals.last_moment_ns)
        if folder.parent.parent in self._fetched:  # two hosts of a fleet may call themselves the same
            segment = replace(segment, host=folder.parent.name)
        self._remembered[folder] = signature, segment
        return segment


def _each_once(segments: Sequence[StoredSegment]) -> list[StoredSegment]:
    """Of a segment that is here and was fetched as well, the one that is here; the oldest first."""
    first: dict[tuple[str, str, str], StoredSegment] = {}
    for segment in segments:
        first.setdefault((segment.host, segment.boot_id, segment.folder.name), segment)
    return sorted(first.values(), key=lambda segment: (segment.begin_ns, str(segment.folder)))


def _signature(folder: Path) -> Signature:
    """By which a change shows: of the description, of the journal while there is one, and of the folders."""
    found = []
    for name in (DESCRIPTION, JOURNAL, "", *FOLDERS):
        try:
            status = (folder / name).stat()
        except OSError:  # reading it will say why
            found.append((0, 0, 0))
        else:
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


def _may_be_in(damage: Damage, span: Range) -> bool:
    begin_ns = _named_begin_ns(damage.folder)
    return begin_ns is None or span.time.begin_ns - LONGEST_NS <= begin_ns < span.time.end_ns


def _named_begin_ns(folder: Path) -> int | None:
    """When a segment began by its name, where its description is lost."""
    try:
        return parse_compact_utc(folder.name[:16])
    except ValueError:
        return None


def _what_there_is(segments: Sequence[StoredSegment]) -> str:
    if not segments:
        return "there are imported captures only"
    first_ns, last_ns = min(s.begin_ns for s in segments), max(s.end_ns for s in segments)
    return f"the first begins at {iso_utc(first_ns)}, the last recording ends at {iso_utc(last_ns)}"


def require_files(folder: Path) -> None:
    """StoreError where a part of a segment is neither a file nor a folder, or its description is too large.

    What may not be looked at is left to those who read it: they say why.
    """
    for path, mode in _modes(folder):
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise damaged_segment(f"{path}: not a file")
    with suppress(OSError):
        if (folder / DESCRIPTION).stat().st_size > LARGEST_DESCRIPTION_BYTES:
            raise damaged_segment(f"{folder / DESCRIPTION}: too large")


def _modes(folder: Path) -> Iterator[tuple[str, int]]:
    """Everything in a segment, and in the folders of its counters and samples; links are followed."""
    for entry in _entries(folder):
        mode = _mode(entry)
        yield entry.path, mode
        if stat.S_ISDIR(mode):
            yield from ((inner.path, _mode(inner)) for inner in _entries(entry.path))


def _mode(entry: os.DirEntry[str]) -> int:
    """What it is. Most systems tell that with the name: no question for each file."""
    try:
        if entry.is_file(follow_symlinks=False):
            return stat.S_IFREG
        return entry.stat().st_mode
    except OSError:
        return stat.S_IFREG


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
