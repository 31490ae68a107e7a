"""The header that RPM keeps of every installed package, whatever the database it is in.

    number of entries | bytes of data | tag, type, offset, count of every entry | data

All numbers are big-endian and have 32 bits. What a header does not have is empty here; what is in it and
not whole raises ValueError.
"""

from __future__ import annotations

import enum
import os
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from necroscope.model.package import Package

MOST_ENTRIES = 0xFFFF  # RPM's own bound
MOST_HEADER_BYTES = 64 << 20  # RPM's is 256 MiB; a package with 100,000 files has some 15
ENTRY = struct.Struct(">4I")
INSTALLED_STATES = (0, 3)  # normal, or on a shared file system; any other file is not there, or another's


class Tag(enum.IntEnum):
    """The entries that we read."""

    NAME = 1000
    VERSION = 1001
    RELEASE = 1002
    EPOCH = 1003
    ARCHITECTURE = 1022
    FILE_STATES = 1029
    FOLDER_NUMBERS = 1116
    FILE_NAMES = 1117
    FOLDERS = 1118


class Kind(enum.IntEnum):
    """The types of the entries that we read."""

    CHARACTER = 1
    NUMBER = 4
    STRING = 6
    STRINGS = 8


class Entry(NamedTuple):
    """Where in the data the values of a tag begin."""

    kind: int
    offset: int
    length: int  # how many values


@dataclass(frozen=True, slots=True)
class RpmHeader:
    """The entries of one header by tag, and the data of all."""

    entries: Mapping[int, Entry]
    data: bytes

    def package(self) -> Package:
        """The package, with its version as RPM's own `%{EVR}` writes it."""
        epoch = "".join(f"{number}:" for number in self._numbers(Tag.EPOCH)[:1])
        name, version, release = map(self._text, (Tag.NAME, Tag.VERSION, Tag.RELEASE))
        if not (name and version and release):
            raise ValueError("a header has no name, version or release")
        return Package(name, f"{epoch}{version}-{release}", self._text(Tag.ARCHITECTURE))

    def paths_in(self, folders: Mapping[str, Collection[str]]) -> Iterator[str]:
        """Those of the wanted paths (names by folder, which ends with a slash) that the package owns."""
        own_folders = self._strings(Tag.FOLDERS)
        wanted = {number: folders[name] for number, name in enumerate(own_folders) if name in folders}
        if not wanted:
            return
        names, numbers = self._strings(Tag.FILE_NAMES), self._numbers(Tag.FOLDER_NUMBERS)
        states = self._octets(Tag.FILE_STATES) or bytes(len(names))
        for name, number, state in zip(names, numbers, states, strict=True):
            if number in wanted and name in wanted[number] and state in INSTALLED_STATES:
                yield own_folders[number] + name

    def _values(self, tag: Tag, kind: Kind, least_bytes: int) -> Entry:
        entry = self.entries.get(tag, Entry(kind, 0, 0))
        if entry.kind != kind or entry.offset + entry.length * least_bytes > len(self.data):
            raise ValueError(f"{tag.name} of a header is not whole")
        return entry

    def _text(self, tag: Tag) -> str:
        return b"".join(self._split(tag, Kind.STRING)).decode(errors="replace")

    def _strings(self, tag: Tag) -> list[str]:
        return [os.fsdecode(part) for part in self._split(tag, Kind.STRINGS)]

    def _split(self, tag: Tag, kind: Kind) -> list[bytes]:
        entry = self._values(tag, kind, 1)
        *parts, _ = self.data[entry.offset :].split(b"\0", entry.length)
        if len(parts) < entry.length:
            raise ValueError(f"{tag.name} of a header is not whole")
        return parts

    def _numbers(self, tag: Tag) -> tuple[int, ...]:
        entry = self._values(tag, Kind.NUMBER, 4)
        return struct.unpack_from(f">{entry.length}I", self.data, entry.offset)

    def _octets(self, tag: Tag) -> bytes:
        entry = self._values(tag, Kind.CHARACTER, 1)
        return self.data[entry.offset : entry.offset + entry.length]


def parse_header(blob: bytes) -> RpmHeader:
    """The header of one record of the database."""
    if len(blob) < 8:
        raise ValueError("a header is cut")
    count, data_bytes = struct.unpack_from(">2I", blob)
    begin = 8 + count * ENTRY.size
    if not 0 < count <= MOST_ENTRIES or begin + data_bytes != len(blob):
        raise ValueError("a record is not a header, or is cut")
    # Of a tag that is there twice the later counts: it was added at the installation.
    entries = {tag: Entry(*rest) for tag, *rest in ENTRY.iter_unpack(blob[8:begin])}
    return RpmHeader(entries, blob[begin:])
