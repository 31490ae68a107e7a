"""A Berkeley DB hash, as RHEL up to 8, Amazon Linux 2 and their like keep RPM's packages: `Packages`.

The first page describes the file. The others are buckets, each perhaps continued on further pages, and
overflow pages, which hold what is too large for a bucket. Every page has a head of 26 bytes:

    8 bytes | its number | the one before | the next | entries | free offset | level | type

In a bucket 16-bit offsets follow, of a key and a value in turns; the data grow down from the end of the
page. All numbers are in the byte order of the machine that made the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from necroscope.sources.packaging.rpm_header import MOST_HEADER_BYTES

MAGIC = 0x061561
VERSIONS = range(8, 11)
META_BYTES = 512
HEAD_BYTES = 26
BUCKET_TYPES = (2, 13)  # unsorted before Berkeley DB 4.6, sorted since
OVERFLOW_TYPE = 7
META_TYPE = 8
ON_PAGE, OFF_PAGE = 1, 3
OFF_PAGE_BYTES = 12
COUNTER_KEY = b"\0\0\0\0"  # not a package: the highest number given out


@dataclass(frozen=True, slots=True)
class Page:
    """One page and what its head says."""

    next_number: int
    entries: int
    free_offset: int  # of an overflow page: the bytes of data on it
    kind: int
    data: bytes


@dataclass(frozen=True, slots=True)
class BerkeleyHash:
    """An open file. Every page is handed out once: a damaged file may lead in circles."""

    file: BinaryIO
    order: str  # < or >, of its numbers
    page_bytes: int
    last_page: int
    last_bucket: int
    spares: tuple[int, ...]  # what to add to a bucket's number for its page, by its number of bits
    seen: set[int] = field(default_factory=set)

    def headers(self) -> Iterator[bytes]:
        """The values of all keys but the counter."""
        for bucket in range(self.last_bucket + 1):
            page = self._bucket(bucket + self.spares[bucket.bit_length()])
            yield from self._values(page)
            while page.next_number:
                page = self._bucket(page.next_number)
                yield from self._values(page)

    def _bucket(self, number: int) -> Page:
        page = self._page(number)
        if page.kind not in BUCKET_TYPES:
            raise ValueError(f"page {number} is no bucket")
        return page

    def _page(self, number: int) -> Page:
        if not 0 < number <= self.last_page or number in self.seen:
            raise ValueError(f"page {number} is not there, or led to twice")
        self.seen.add(number)
        self.file.seek(number * self.page_bytes)
        data = self.file.read(self.page_bytes)
        if len(data) < self.page_bytes:
            raise ValueError("the file is cut")
        own_number, _, next_number, entries, free, _, kind = struct.unpack_from(
            f"{self.order}3I2H2B", data, 8
        )
        if own_number != number:
            raise ValueError(f"page {number} says that it is {own_number}")
        return Page(next_number, entries, free, kind, data)

    def _values(self, page: Page) -> Iterator[bytes]:
        if HEAD_BYTES + 2 * page.entries > self.page_bytes or page.entries % 2:
            raise ValueError("the entries of a page are damaged")
        offsets = struct.unpack_from(f"{self.order}{page.entries}H", page.data, HEAD_BYTES)
        ends = (self.page_bytes, *offsets)
        items = [page.data[begin:end] for begin, end in zip(offsets, ends, strict=False)]
        for key, value in zip(items[::2], items[1::2], strict=True):
            if self._whole(key) != COUNTER_KEY:
                yield self._whole(value)

    def _whole(self, item: bytes) -> bytes:
        """What an item of a bucket holds, be it in the bucket or in overflow pages."""
        if item[:1] == bytes([ON_PAGE]):
            return item[1:]
        if item[:1] != bytes([OFF_PAGE]) or len(item) != OFF_PAGE_BYTES:
            raise ValueError("an entry is damaged, or of an unknown type")
        number, length_bytes = struct.unpack_from(f"{self.order}2I", item, 4)
        if length_bytes > MOST_HEADER_BYTES:
            raise ValueError(f"an entry of {length_bytes} bytes")
        parts = []
        while length_bytes > 0:
            page = self._page(number)
            part = page.data[HEAD_BYTES : HEAD_BYTES + page.free_offset]
            if page.kind != OVERFLOW_TYPE or len(part) != page.free_offset or len(part) > length_bytes:
                raise ValueError(f"page {number} does not continue an entry")
            parts.append(part)
            length_bytes -= len(part)
            number = page.next_number
        return b"".join(parts)


def open_hash(file: BinaryIO) -> BerkeleyHash:
    """The database in a file. Raises ValueError where it is none, or of a kind that RPM never makes."""
    meta = file.read(META_BYTES)
    if len(meta) < META_BYTES:
        raise ValueError("the file is cut")
    order = "<" if struct.unpack_from("<I", meta, 12)[0] == MAGIC else ">"
    magic, version, page_bytes, encryption, kind, flags = struct.unpack_from(f"{order}3I3B", meta, 12)
    if magic != MAGIC or version not in VERSIONS or kind != META_TYPE:
        raise ValueError("the file is no Berkeley DB hash that RPM makes")
    if encryption or flags or page_bytes not in [1 << bits for bits in range(9, 17)]:
        raise ValueError("the database is encrypted, has checksums, or pages of an unknown size")
    (last_page,) = struct.unpack_from(f"{order}I", meta, 32)
    (last_bucket,) = struct.unpack_from(f"{order}I", meta, 72)
    spares = struct.unpack_from(f"{order}32I", meta, 96)
    return BerkeleyHash(file, order, page_bytes, last_page, last_bucket, spares)
