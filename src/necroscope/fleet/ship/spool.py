"""The spool: what is to be sent, in a folder beside the segments, until it has arrived.

    .ship/parts/NAME-SHA.json   in the place they are hosts/HOST/inbox/NAME-SHA.json
    .ship/blobs/SHA256          hard links to files of segments, so that retention cannot take them; sections
    .ship/progress.json, lock

A part is written after its blobs. What is half done after a kill is done again or swept away.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from necroscope.errors import StoreError
from necroscope.fleet.place.canonical import SHORT, digest_of
from necroscope.fleet.ship.parts import COUNTERS, FACTS, FILES, SEGMENT, WHOLE, Part
from necroscope.sources.plain_files import open_plain, read_plain
from necroscope.store.durable import is_partial, sync_folder, write_durably
from necroscope.store.trusted_folder import make_trusted

FOLDER = ".ship"
MAX_PART_BYTES = 64 << 20
PART = re.compile(
    rf"(?P<name>(?P<kind>{SEGMENT}|{FACTS}|{FILES}|{COUNTERS})-(?P<time>[\w-]+))-[0-9a-f]{{16}}\.json"
)
BLOB = re.compile(r"[0-9a-f]{64}")
ORDER = (FACTS, SEGMENT, COUNTERS, FILES)  # in which they are sent: the small ones first
# What some file systems say to a hard link; a copy does as well.
NO_LINKS = {errno.EPERM, errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP, errno.EACCES}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A part in the spool."""

    path: Path
    name: str  # without its digest
    kind: str  # how its name begins
    time: str  # what it is about; later ones sort behind


@dataclass(frozen=True, slots=True)
class Wanted:
    """A blob that a part names; of a section of facts the size is not told."""

    digest: str
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Opened:
    """A part as it will be sent, and the blobs that must be there before."""

    content: bytes
    blobs: tuple[Wanted, ...]


class Spool:
    """The folder of one host; whoever writes to it holds its lock."""

    def __init__(self, host_folder: Path) -> None:
        self.folder = host_folder / FOLDER
        self._parts = self.folder / "parts"
        self._blobs = self.folder / "blobs"

    def prepare(self) -> None:
        """Make the folders. Raises OSError, and UntrustedFolderError as root if others could change them."""
        for folder in (self.folder, self._parts, self._blobs):
            make_trusted(folder)

    def waiting(self) -> list[Waiting]:
        """The parts, in the order in which they are to be sent."""
        found = [
            Waiting(path, match["name"], match["kind"], match["time"])
            for path in self._files(self._parts)
            if (match := PART.fullmatch(path.name))
        ]
        return sorted(found, key=lambda one: (ORDER.index(one.kind), one.time, one.path.name))

    def foreign(self) -> list[Path]:
        """What is in the spool and not of it. It is left alone."""
        parts = [path for path in self._files(self._parts) if not PART.fullmatch(path.name)]
        return parts + [path for path in self._files(self._blobs) if not BLOB.fullmatch(path.name)]

    def total_bytes(self) -> int:
        """What parts and blobs take; a hard link counts as if it were the only one."""
        return sum(_size(path) for folder in (self._parts, self._blobs) for path in self._files(folder))

    def put(self, part: Part) -> None:
        """Add a part whose blobs are there."""
        write_durably(self._parts / part.file_name, part.content)

    def put_blob(self, digest: str, content: bytes) -> None:
        """Add a blob."""
        if not self.blob(digest).exists():
            write_durably(self.blob(digest), content)

    def link_blob(self, digest: str, path: Path) -> None:
        """Add a file as a blob, without a copy where the file system can do that."""
        try:
            os.link(path, self.blob(digest), follow_symlinks=False)
        except FileExistsError:
            return
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            with os.fdopen(open_plain(path), "rb") as file:
                write_durably(self.blob(digest), file)

    def sync(self) -> None:
        """Make the names durable, before anybody remembers them."""
        for folder in (self._blobs, self._parts):
            sync_folder(folder)

    def open(self, waiting: Waiting) -> Opened:
        """A part as it was staged. StoreError where it is damaged."""
        try:
            content = read_plain(waiting.path, MAX_PART_BYTES)
            if not waiting.path.stem.endswith(digest_of(content)[:SHORT]):
                raise ValueError("it is not as it was written")
            return Opened(content, tuple(_wanted(waiting, content)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{waiting.path}: {error}; it is staged anew") from error

    def has_blob(self, wanted: Wanted) -> bool:
        """Whether a blob is there. StoreError where it is not what its name says; then it is removed."""
        path = self.blob(wanted.digest)
        try:
            with os.fdopen(open_plain(path), "rb") as file:
                is_right = hashlib.file_digest(file, "sha256").hexdigest() == wanted.digest
        except FileNotFoundError:
            return False
        if not is_right:
            path.unlink(missing_ok=True)
            raise StoreError(f"{path} is not as it was written; it is staged anew")
        return True

    def blob(self, digest: str) -> Path:
        """Where a blob is."""
        return self._blobs / digest

    def remove(self, waiting: Waiting) -> None:
        """A part that has arrived, or never will; its blobs are swept later."""
        waiting.path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove blobs that no part names, and what a kill left half written."""
        named = self._named_blobs(self.waiting())
        for path in self._files(self._blobs):
            if BLOB.fullmatch(path.name) and not named[path.name]:
                path.unlink(missing_ok=True)
        for folder in (self.folder, self._parts, self._blobs):
            for path in folder.iterdir():
                if is_partial(path.name):
                    path.unlink(missing_ok=True)

    def keep_within(self, budget_bytes: int, *, whole_only: bool = False) -> list[Waiting]:
        """Give up what is beyond a budget: the oldest whole segments first, then the oldest parts."""
        over = self.total_bytes() - budget_bytes
        if over <= 0:
            return []
        waiting = self.waiting()
        named = self._named_blobs(waiting)
        given_up = []
        doomed = [one for one in waiting if one.kind in WHOLE or not whole_only]
        for one in sorted(doomed, key=lambda one: (one.kind not in WHOLE, one.time)):
            if over <= 0:
                break
            over -= self._give_up(one, named)
            given_up.append(one)
        return given_up

    def _give_up(self, waiting: Waiting, named: Counter[str]) -> int:
        """The room that was won."""
        freed = [waiting.path]
        for digest in self._digests(waiting):
            named[digest] -= 1
            if not named[digest]:
                freed.append(self.blob(digest))
        won = sum(_size(path) for path in freed)
        for path in freed:
            path.unlink(missing_ok=True)
        return won

    def _named_blobs(self, waiting: Sequence[Waiting]) -> Counter[str]:
        return Counter(digest for one in waiting for digest in self._digests(one))

    def _digests(self, waiting: Waiting) -> set[str]:
        if waiting.kind == SEGMENT:
            return set()
        with suppress(StoreError):
            return {wanted.digest for wanted in self.open(waiting).blobs}
        return set()

    @staticmethod
    def _files(folder: Path) -> list[Path]:
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            return [folder / one.name for one in entries if not one.name.startswith(".")]
        return []


def _wanted(waiting: Waiting, content: bytes) -> Iterator[Wanted]:
    if waiting.kind == SEGMENT:
        return
    document = json.loads(content)
    if waiting.kind == FACTS:
        yield from (Wanted(_checked(digest), None) for digest in document["sections"].values())
    else:
        yield from (Wanted(_checked(file["sha256"]), int(file["bytes"])) for file in document["files"])


def _checked(digest: str) -> str:
    if not BLOB.fullmatch(digest):
        raise ValueError(f"'{digest}' is no digest")
    return digest


def _size(path: Path) -> int:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
