"""Files of a place that were fetched before, on this machine: named by their content, bounded in bytes.

    $XDG_CACHE_HOME/necroscope/fleet/3f/3f9a1c0b7d5e2a46...     as root /var/cache/necroscope/fleet

A file is checked against its sha256 when it arrives, and against its size each time that it is used. Where
there are too many, those go first that were not used for the longest time; what was used in the last minutes
stays, since another process may be about to read it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from necroscope.errors import StoreError, UsageError
from necroscope.fleet.place.place import Place
from necroscope.model.quantities import parse_size
from necroscope.store.durable import make_folders

LIMIT_BYTES = 8 << 30  # some months of 5,000 hosts
IN_USE_SECONDS = 600
FETCHED_AT_ONCE = 16
MAKING = ".making-"
FOLDER_VARIABLE, SIZE_VARIABLE = "NECROSCOPE_FLEET_CACHE", "NECROSCOPE_FLEET_CACHE_SIZE"


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object of a place whose content is known."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Kept:
    """Something in a cache."""

    path: Path
    bytes: int
    used_ns: int


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of fetched files."""

    root: Path
    limit_bytes: int = LIMIT_BYTES

    def bring(self, place: Place, wanted: Sequence[Wanted]) -> list[Path]:
        """The local paths of objects, in their order; what is not here is fetched. StoreError: not there."""
        missing = [one for one in wanted if not self._has(one)]
        if missing:
            with translate_errors(self.root), ThreadPoolExecutor(FETCHED_AT_ONCE) as threads:
                list(threads.map(lambda one: fetch_checked(place, one, self.path(one.sha256)), missing))
            self._drop_oldest()
        return [self.path(one.sha256) for one in wanted]

    def path(self, sha256: str) -> Path:
        """Where a file of that content is, if it is here."""
        return self.root / sha256[:2] / sha256

    def _has(self, one: Wanted) -> bool:
        path = self.path(one.sha256)
        try:
            if path.stat().st_size != one.bytes:
                return False
            os.utime(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except PermissionError:  # of another user, who may use it all the same
            return os.access(path, os.R_OK)
        return True

    def _drop_oldest(self) -> None:
        for kept in too_many(_kept_below(self.root), self.limit_bytes):
            with suppress(OSError):  # taken away by another process, or not ours
                kept.path.unlink()


def default_cache() -> Cache:
    """Where this user's files are kept, unless variables of the environment say otherwise."""
    size = os.environ.get(SIZE_VARIABLE, "")
    try:
        return Cache(_default_root(), parse_size(size) if size else LIMIT_BYTES)
    except ValueError as error:
        raise UsageError(f"{SIZE_VARIABLE}: {error}") from error


def fetch_checked(place: Place, one: Wanted, path: Path) -> None:
    """Fetch an object to a path, where it is only when its bytes are what they should be."""
    make_folders(path.parent)
    with tempfile.TemporaryDirectory(prefix=MAKING, dir=path.parent) as folder:
        made = Path(folder) / "fetched"
        if not place.fetch(one.name, made, one.bytes):
            hint = "the tables were made anew meanwhile: ask again"
            raise StoreError(f"{place.address}: {one.name} is not there", hint=hint)
        with made.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != one.sha256:
            raise StoreError(f"{place.address}: {one.name} is damaged: its content is not what its name says")
        made.replace(path)


def too_many(kept: Iterable[Kept], limit_bytes: int) -> list[Kept]:
    """What has to go: the least recently used, but nothing that may be in use."""
    oldest_first = sorted(kept, key=lambda one: (one.used_ns, one.path))
    excess = sum(one.bytes for one in oldest_first) - limit_bytes
    before_ns = time.time_ns() - IN_USE_SECONDS * 10**9
    going = []
    for one in oldest_first:
        if excess <= 0 or one.used_ns > before_ns:
            break
        going.append(one)
        excess -= one.bytes
    return going


def _kept_below(root: Path) -> Iterator[Kept]:
    """Everything in the cache, also what a killed process left half fetched."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            with suppress(FileNotFoundError):
                status = path.stat()
                yield Kept(path, status.st_size, status.st_mtime_ns)


def _default_root() -> Path:
    if folder := os.environ.get(FOLDER_VARIABLE):
        return Path(folder)
    if os.geteuid() == 0:
        return Path("/var/cache/necroscope/fleet")
    try:
        parent = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError as error:  # neither HOME nor an entry in /etc/passwd
        hint = f"{FOLDER_VARIABLE} names a folder"
        raise StoreError("this user has no home folder where tables could be kept", hint=hint) from error
    return parent / "necroscope/fleet"


@contextmanager
def translate_errors(root: Path) -> Iterator[None]:
    """An error of the file system, with what can be done about it."""
    try:
        yield
    except OSError as error:
        hint = f"{FOLDER_VARIABLE} names another folder"
        raise StoreError(f"{error.filename or root}: {error.strerror}", hint=hint) from error
