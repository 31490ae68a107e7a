"""RPM's own format of a database, as SUSE has it: `Packages.db`.

    "RpmP" version generation pages-of-slots     then slots: "Slot" number first-block blocks
    "BlbS" number generation length              then the header of the package, padded to whole blocks
    adler32 length "BlbE"

A block has 16 bytes, a page 4096; all numbers are little-endian and have 32 bits.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from necroscope.sources.packaging.rpm_header import MOST_HEADER_BYTES

BLOCK_BYTES = 16
PAGE_BYTES = 4096
MOST_PAGES = 4096  # of slots: for a million packages
FILE_HEAD = struct.Struct("<4s3I")
FILE_HEAD_SLOTS = 2  # the head of the file takes the place of so many
SLOT = struct.Struct("<4s3I")
HEAD = struct.Struct("<4s3I")
TAIL = struct.Struct("<2I4s")


def read_headers(file: BinaryIO, file_bytes: int) -> Iterator[bytes]:
    """The headers of all packages. Raises ValueError where the file is not such a database, or damaged."""
    head = file.read(FILE_HEAD.size)
    if len(head) < FILE_HEAD.size:
        raise ValueError("the file is cut")
    magic, version, _, pages = FILE_HEAD.unpack(head)
    if magic != b"RpmP" or version != 0:
        raise ValueError("the file is no NDB database of version 0")
    slots_bytes = pages * PAGE_BYTES
    if not 0 < pages <= MOST_PAGES or slots_bytes > file_bytes:
        raise ValueError(f"{pages} pages of slots in a file of {file_bytes} bytes")
    file.seek(0)
    table = file.read(slots_bytes)
    if len(table) < slots_bytes:
        raise ValueError("the file is cut")
    left_bytes = file_bytes - slots_bytes
    for magic, number, block, blocks in [*SLOT.iter_unpack(table)][FILE_HEAD_SLOTS:]:
        if magic != b"Slot":
            raise ValueError("a slot is damaged")
        if block:
            # Slots that overlap could make a small file into a huge answer.
            left_bytes -= blocks * BLOCK_BYTES
            if left_bytes < 0:
                raise ValueError("the records are larger than the file")
            file.seek(block * BLOCK_BYTES)
            yield _header(file, number, blocks * BLOCK_BYTES)


def _header(file: BinaryIO, number: int, length_bytes: int) -> bytes:
    if not HEAD.size + TAIL.size <= length_bytes <= MOST_HEADER_BYTES:
        raise ValueError(f"a record of {length_bytes} bytes")
    blob = file.read(length_bytes)
    if len(blob) < length_bytes:
        raise ValueError("a record is cut")
    body_end = length_bytes - TAIL.size
    magic, own_number, _, header_bytes = HEAD.unpack_from(blob)
    checksum, same_bytes, end_magic = TAIL.unpack_from(blob, body_end)
    if (magic, own_number, end_magic) != (b"BlbS", number, b"BlbE"):
        raise ValueError("a record is damaged")
    if header_bytes != same_bytes or not 0 <= body_end - HEAD.size - header_bytes < BLOCK_BYTES:
        raise ValueError("the length of a record is damaged")
    if zlib.adler32(blob[:body_end]) != checksum:
        raise ValueError("the checksum of a record is wrong")
    return blob[HEAD.size : HEAD.size + header_bytes]
