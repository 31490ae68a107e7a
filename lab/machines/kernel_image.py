"""The release of a Linux kernel, read from its image.

Reads    the boot header of an x86 bzImage (Documentation/arch/x86/boot.rst); nothing is unpacked
Costs    one read of the file's first 64 KiB
"""

from __future__ import annotations

import struct

HEAD_BYTES = 1 << 16  # the version text lies within the set-up code, of at most 64 sectors
BOOT_FLAG = (0x1FE, b"\x55\xaa")
HEADER = (0x202, b"HdrS")
PROTOCOL, VERSION_TEXT, LOAD_FLAGS = 0x206, 0x20E, 0x236
PROTOCOL_WITH_LOAD_FLAGS = 0x20C
IS_64_BIT = 1
OTHER_KINDS = {  # where, what: said to whoever gives it
    (0x38, b"ARM\x64"): "a kernel for arm64: guests are x86-64",
    (4, b"zimg"): "an EFI image of a kernel for another architecture than x86: guests are x86-64",
    (0, b"\x7fELF"): "an ELF file, as vmlinux is: give the bzImage (vmlinuz) that was built from it",
    (0, b"\x1f\x8b"): "compressed by gzip, as kernels for arm64 are: guests are x86-64",
}


def parse_release(head: bytes) -> str:
    """What `uname -r` would print, from the beginning of an image; ValueError says what it is instead."""
    if not _has(head, *BOOT_FLAG) or not _has(head, *HEADER):
        for (offset, magic), kind in OTHER_KINDS.items():
            if _has(head, offset, magic):
                raise ValueError(kind)
        raise ValueError("not a Linux kernel image: it has no x86 boot header")
    protocol, text_offset = _number(head, PROTOCOL), _number(head, VERSION_TEXT)
    if protocol >= PROTOCOL_WITH_LOAD_FLAGS and not _number(head, LOAD_FLAGS) & IS_64_BIT:
        raise ValueError("a kernel for 32-bit x86: guests are x86-64")
    text = head[0x200 + text_offset :].partition(b"\0")[0]
    if not text_offset or not text.strip():
        raise ValueError("a kernel image that does not tell its release")
    return text.split()[0].decode(errors="replace")


def _has(head: bytes, offset: int, magic: bytes) -> bool:
    return head[offset : offset + len(magic)] == magic


def _number(head: bytes, offset: int) -> int:
    (number,) = struct.unpack_from("<H", head, offset)
    return int(number)
