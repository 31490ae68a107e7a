"""What any place can do, and which one an address means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from necroscope.errors import PlaceError, UsageError

MAX_OBJECT_BYTES = 256 << 20  # that is read into memory; a table of an hour of 10,000 hosts takes 30 MB
HINT = "a folder, file:///FOLDER, or s3://BUCKET/PREFIX?endpoint=http://127.0.0.1:8333&region=us-east-1"


class BadObjectError(PlaceError):
    """An object is a link, a pipe or too large. The place itself can be used."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object that is there."""

    name: str
    bytes: int
    modified_us: int  # by the clock of the place


class Place(Protocol):
    """Objects by name, with slashes. Errors are PlaceError, but for a missing object where None is said."""

    address: str  # as it was given, without secrets

    def read(self, name: str, max_bytes: int = MAX_OBJECT_BYTES) -> bytes | None:
        """Return what an object holds, or None if there is none. BadObjectError if it holds more."""

    def write(self, name: str, content: bytes) -> None:
        """Put an object there, all of it or nothing; another of that name is replaced."""

    def write_file(self, name: str, path: Path) -> None:
        """The same with the content of a file, which may be large."""

    def fetch(self, name: str, path: Path, max_bytes: int) -> bool:
        """Copy an object to a file, all of it or nothing; False if there is none. PlaceError as `read`."""

    def size(self, name: str) -> int | None:
        """How large an object is; None: there is none."""

    def below(self, prefix: str) -> Iterator[Stored]:
        """All objects below a prefix, which ends with a slash or is empty, in the order of their names."""

    def folders(self, prefix: str) -> list[str]:
        """The names right below a prefix that have objects below them."""

    def remove(self, name: str) -> None:
        """Take an object away; one that is not there is no error."""


def open_place(address: str) -> Place:
    """The place that an address means; it is not asked anything yet."""
    scheme, separator, rest = address.partition("://")
    if not separator or scheme == "file":
        from necroscope.fleet.place.folder import FolderPlace

        return FolderPlace(Path(rest if separator else address))
    if scheme == "s3":
        from necroscope.fleet.place.s3 import open_s3

        return open_s3(address)
    raise UsageError(f"'{address}' is not a place for a fleet", hint=HINT)
