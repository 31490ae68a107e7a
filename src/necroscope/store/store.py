"""Segments on disk: `<store>/<host>/<UTC start>/`, each complete in itself.

A segment that is imported is made in a folder whose name begins with a dot, and gets its own name when it is
whole; one that is recorded has its name from its first second on, and can be read while it is open.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from necroscope.errors import NecroscopeError, StoreError
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import compact_utc
from necroscope.sources.plain_files import open_plain, read_plain
from necroscope.store.durable import FOLDER_MODE, write_durably
from necroscope.store.journal import journal_bytes, last_moment_ns
from necroscope.store.segment_damage import damaged_segment
from necroscope.store.segment_description import (
    SegmentDescription,
    parse_description,
    parse_document,
)
from necroscope.store.store_place import not_permitted
from necroscope.store.trusted_folder import make_trusted
from necroscope.store.wall_time import with_right_clocks

SCHEMA = 1
DESCRIPTION = "segment.json"
OPEN, SEALED = "open", "sealed"
CAPTURE = "perf.data"
MAX_DESCRIPTION_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A segment. Times in its files are on its own clock; `offset_ns` leads to the time of day."""

    folder: Path
    host: str
    begin_ns: int  # UTC
    end_ns: int  # UTC; of an open segment, the last second on disk
    offset_ns: int  # add to a time of the segment's clock to get UTC
    description: SegmentDescription

    @property
    def is_open(self) -> bool:
        """Whether it is still being written, or was left by a crash."""
        return self.description.state == OPEN

    def overlaps(self, wanted: TimeRange) -> bool:
        """Whether a part of it is in a range; its last second is at `end_ns`."""
        return wanted.overlaps(self.begin_ns, self.end_ns)

    @property
    def boot_id(self) -> str:
        """The boot it was recorded in; empty for an imported capture."""
        return self.description.host.boot_id

    @property
    def profile(self) -> Path:
        """The folder of its profile, once it is sealed."""
        return self.folder / "profile"

    @property
    def capture(self) -> Path:
        """What perf writes, until it is sealed."""
        return self.folder / CAPTURE

    @property
    def has_profile(self) -> bool:
        """Whether there are samples, or may be."""
        return self.capture.exists() if self.is_open else self.description.profile.samples > 0


@dataclass(frozen=True, slots=True)
class Damage:
    """A segment, or the folder of a host, that cannot be read, and the error that says why."""

    folder: Path
    error: NecroscopeError


@dataclass(frozen=True, slots=True)
class Store:
    """All segments of all hosts below one folder."""

    root: Path
    damaged: list[Damage] = field(default_factory=list, compare=False)  # what `segments` could not read
    read: Callable[[Path], StoredSegment] | None = field(default=None, compare=False)  # who remembers some

    def segments(self) -> list[StoredSegment]:
        """All segments that can be read, the oldest first. Folders that are not segments are left alone."""
        self.damaged.clear()
        try:
            # No host's folder begins with a dot: some file systems show `.snapshot` everywhere.
            hosts = [host for host in _folders(self.root) if not host.name.startswith(".")]
        except PermissionError as error:
            raise not_permitted(self.root) from error
        found = with_right_clocks([segment for host in hosts for segment in self._segments_of(host)])
        return sorted(found, key=lambda segment: (segment.begin_ns, str(segment.folder)))

    def _segments_of(self, host: Path) -> Iterator[StoredSegment]:
        try:
            folders = _folders(host)
        except PermissionError:
            if safe_name(host.name) == host.name:  # not so `lost+found`
                self.damaged.append(Damage(host, not_permitted(host)))
            return
        for folder in folders:
            if folder.name.startswith("."):
                continue
            try:
                yield (self.read or read_segment)(folder)
            except _GoneError:
                continue
            except NecroscopeError as error:
                self.damaged.append(Damage(folder, error))

    def host_folder(self, host: str) -> Path:
        """Where the segments of a host are."""
        return self.root / (safe_name(host) or "unknown")

    @contextmanager
    def new_segment(self, host: str) -> Iterator[Path]:
        """A folder to fill; it is removed again unless `seal` gave it a name."""
        parent = self.host_folder(host)
        try:
            make_trusted(parent)
            folder = parent / f".making-{os.urandom(8).hex()}"
            folder.mkdir(mode=0o700)
        except OSError as error:
            hint = "--store names a folder that can be written"
            raise StoreError(f"{parent}: {error.strerror}", hint=hint) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def seal(folder: Path, description: Mapping[str, Any], begin_ns: int) -> StoredSegment:
    """Describe a folder made by `new_segment`, make it durable, and give it its name."""
    files = describe_files(folder, sorted(folder.iterdir()))
    document = {"schema": SCHEMA, "state": SEALED, **description, "files": files}
    write_durably(folder / DESCRIPTION, json.dumps(document, indent=1).encode())
    folder.chmod(FOLDER_MODE)
    for name in segment_names(folder.parent, begin_ns):
        try:
            return read_segment(folder.rename(name))
        except OSError:  # taken: another segment of the same second
            if not name.exists():
                raise
    raise StoreError(f"{folder.parent}: too many segments of one second")


def segment_names(parent: Path, begin_ns: int) -> Iterator[Path]:
    """The names that a segment which begins then may have, the best first."""
    start = compact_utc(begin_ns)
    return (parent / (f"{start}-{number}" if number else start) for number in range(1000))


class _GoneError(StoreError):
    """A segment was removed while it was being looked at: retention does that."""


def last_moment_of(folder: Path) -> int | None:
    """When the last moment of an open segment was, on its own clock."""
    return last_moment_ns(journal_bytes(folder))


def read_segment(folder: Path, last_moment: Callable[[Path], int | None] = last_moment_of) -> StoredSegment:
    """Read the description of a segment, open or sealed."""
    path = folder / DESCRIPTION
    try:
        document = read_document(folder)
        if document["schema"] != SCHEMA:
            raise StoreError(
                f"{path}: schema {document['schema']!r}, not {SCHEMA}", hint="a newer necroscope made it"
            )
        described = parse_description(document)
        return StoredSegment(
            folder=folder,
            host=described.host.hostname,
            begin_ns=described.begin_ns,
            end_ns=_end_ns(folder, described, last_moment),
            offset_ns=described.clock.offset_ns,
            description=described,
        )
    except FileNotFoundError as error:
        raise _GoneError(f"{path}: {error.strerror}") from error
    except PermissionError as error:  # also of the journal
        raise not_permitted(Path(error.filename or path)) from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise damaged_segment(f"{path}: {type(error).__name__}: {error}") from error


def read_document(folder: Path) -> dict[str, Any]:
    """Read segment.json as it is, to write it again or to show it."""
    return parse_document(read_plain(folder / DESCRIPTION, MAX_DESCRIPTION_BYTES).decode())


def _folders(parent: Path) -> list[Path]:
    """The folders in a folder, by name; glob would pass one that may not be read as empty."""
    try:
        with os.scandir(parent) as entries:
            return sorted(parent / entry.name for entry in entries if _is_folder(entry))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def has_file(segment: StoredSegment, name: str) -> bool:
    """Whether a sealed segment has a file; one that it should have and has not is damage."""
    path = segment.folder / name
    try:
        if path.exists():
            return True
    except PermissionError as error:
        raise not_permitted(path) from error
    listed = any(file.name == name for file in segment.description.files)
    if listed and (segment.folder / DESCRIPTION).exists():  # else all of it was removed meanwhile
        raise damaged_segment(f"{path} is missing")
    return False


def sealed_meanwhile(segment: StoredSegment) -> StoredSegment | None:
    """What an open segment has become whose journal is gone; None where all of it is."""
    try:
        now = read_segment(segment.folder)
    except _GoneError:
        return None
    return None if now.is_open else replace(now, offset_ns=segment.offset_ns)


def _end_ns(folder: Path, described: SegmentDescription, last_moment: Callable[[Path], int | None]) -> int:
    if described.state != OPEN:
        return described.end_ns
    try:
        last_ns = last_moment(folder)
    except FileNotFoundError:  # sealed meanwhile, or killed before its first second
        last_ns = None
    return described.begin_ns if last_ns is None else last_ns + described.clock.offset_ns


def safe_name(text: str) -> str:
    """A host name as the name of a folder."""
    kept = "".join(c if c.isalnum() or c in "-._" else "-" for c in text)
    return kept.lstrip(".")[:200]


def describe_files(folder: Path, paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Name, size and checksum of files, and of all files in folders among them."""
    found = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    return [_describe_file(folder, file) for file in found if file.is_file()]


def _describe_file(folder: Path, path: Path) -> dict[str, Any]:
    with os.fdopen(open_plain(path), "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"name": str(path.relative_to(folder)), "bytes": path.stat().st_size, "sha256": digest}
