"""A place that is not a folder, for tests: it counts what it is asked, and fails when it is told to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from necroscope.errors import PlaceError
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.place.place import MAX_OBJECT_BYTES, Stored


class Killed(BaseException):
    """The process ended here."""


class Elsewhere:
    """Objects in a folder, behind a door. `fail_at`: the n-th change is not made; all after it neither."""

    def __init__(
        self, root: Path, *, fail_at: int | None = None, error: type[BaseException] = Killed
    ) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.folder = FolderPlace(root)
        self.address = f"elsewhere:{root}"
        self.fetched: list[str] = []
        self.changes: list[str] = []
        self.fail_at = fail_at
        self.error = error

    def read(self, name: str, max_bytes: int = MAX_OBJECT_BYTES) -> bytes | None:
        return self.folder.read(name, max_bytes)

    def write(self, name: str, content: bytes) -> None:
        self._change(f"write {name}")
        self.folder.write(name, content)

    def write_file(self, name: str, path: Path) -> None:
        self._change(f"write {name}")
        self.folder.write_file(name, path)

    def fetch(self, name: str, path: Path, max_bytes: int) -> bool:
        self.fetched.append(name)
        return self.folder.fetch(name, path, max_bytes)

    def size(self, name: str) -> int | None:
        return self.folder.size(name)

    def below(self, prefix: str) -> Iterator[Stored]:
        return self.folder.below(prefix)

    def folders(self, prefix: str) -> list[str]:
        return self.folder.folders(prefix)

    def remove(self, name: str) -> None:
        self._change(f"remove {name}")
        self.folder.remove(name)

    def _change(self, what: str) -> None:
        if self.fail_at is not None and len(self.changes) >= self.fail_at:
            raise self.error(what)
        self.changes.append(what)


class AwayError(PlaceError):
    """The place went away."""
