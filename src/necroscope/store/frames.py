"""Checksummed frames: how an open segment is written, so that a crash costs the last frame at most.

    b"NFRM", length of the payload, CRC-32 of the payload (both little-endian u32), payload

A frame is there whole or not at all. Damage in the middle of a file costs the damaged frame only: the
next one is found by its magic.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

MAGIC = b"NFRM"
HEAD = struct.Struct("<4sII")
MAX_PAYLOAD_BYTES = 16 << 20  # a length beyond this is damage; as JSON it takes twenty times as much


def frame(payload: bytes) -> bytes:
    """The payload as a frame."""
    return HEAD.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload


def payloads(data: bytes) -> Iterator[bytes]:
    """The payloads of all whole frames, in order."""
    place = data.find(MAGIC)
    while place >= 0 and place + HEAD.size <= len(data):
        _, length, checksum = HEAD.unpack_from(data, place)
        begin = place + HEAD.size
        # A false head mostly has a false length: such a payload is not even looked at.
        payload = data[begin : begin + length] if length <= MAX_PAYLOAD_BYTES else b""
        if len(payload) == length and zlib.crc32(payload) == checksum:
            yield payload
            place = data.find(MAGIC, begin + length)
        else:
            place = data.find(MAGIC, place + 1)
