"""Captures and programs made byte by byte: processes that never ran, and have mapped whatever is wanted.

    python -m tests.security.made_captures CAPTURE FOLDER ROOT TIMES

imports one so many times, in a process of its own, and prints the names of its functions as JSON, and the
most memory that it took.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from necroscope import _native

ANONYMOUS = "//anon"
USER = 2**64 - 512  # PERF_CONTEXT_USER
FIELDS = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7  # TID, TIME, CALLCHAIN, CPU
# A program for x86-64 that runs code made at run time, for ever, and has a pipe for the map of it.
SPIN = """
import ctypes, mmap, os
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("ebfe"))  # jmp to itself
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
os.mkfifo(f"/tmp/perf-{os.getpid()}.map")
ctypes.CFUNCTYPE(None)(address)()
"""
BEGIN, SPAN = 0x10000, 0x1000  # where each mapping begins, and its size


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a process has mapped, and the offsets in it at which it was seen."""

    pid: int
    path: str = ANONYMOUS
    offsets: tuple[int, ...] = (0x100,)


def capture(path: Path, mapped: Sequence[Mapped]) -> Path:
    """Write a capture with one sample for each offset; each process has one mapping."""
    attr = struct.pack("<IIQQQQQ", 1, 128, 0, 10**7, FIELDS, 0, 0).ljust(128, b"\0")
    records = [record(64, attr + struct.pack("<Q", 1))]
    for one in mapped:
        name = one.path.encode() + b"\0"
        name += b"\0" * (-len(name) % 8)
        where = struct.pack("<IIQQQ", one.pid, one.pid, BEGIN, SPAN, 0)
        comm = b"victim\0\0"
        records.append(record(3, struct.pack("<II", one.pid, one.pid) + comm))
        records.append(record(10, where + bytes(24) + struct.pack("<II", 5, 2) + name, misc=2))
    for one in mapped:
        for number, offset in enumerate(one.offsets):
            words = struct.pack("<IIQIIQ", one.pid, one.pid, 10**9 + number, 0, 0, 2)
            records.append(record(9, words + struct.pack("<QQ", USER, BEGIN + offset), misc=2))
    path.write_bytes(b"PERFILE2" + struct.pack("<Q", 16) + b"".join(records))
    return path


def record(kind: int, body: bytes, misc: int = 0) -> bytes:
    """Return a record with its head."""
    return struct.pack("<IHH", kind, misc, len(body) + 8) + body


def program(path: Path, functions: Sequence[tuple[str, int, int]]) -> Path:
    """Write an ELF file with these functions: name, offset in the file and size."""
    texts, table = b"\0.strtab\0.symtab\0", bytes(24)
    for name, offset, size in functions:
        table += struct.pack("<IBBHQQ", len(texts), 2, 0, 1, offset, size)
        texts += name.encode() + b"\0"
    texts += b"\0" * (-len(texts) % 8)
    segments, begin = 64, 64 + 56
    sections = begin + len(texts) + len(table)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HHI", 3, 62, 1)
    head += struct.pack("<QQQIHHHHHH", 0, segments, sections, 0, 64, 56, 1, 64, 3, 1)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 0x10000, 0x10000, 0x1000)
    rows = [(0, 0, 0, 0, 0), (1, 3, begin, len(texts), 0), (9, 2, begin + len(texts), len(table), 1)]
    packed = [
        struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, link, 0, 8, 0)
        for name, kind, at, size, link in rows
    ]
    path.write_bytes(head + segment + texts + table + b"".join(packed))
    path.chmod(0o755)
    return path


def machine(folder: Path, pid: int, user: int) -> Path:
    """Make a root with one process, whose own root is `inside` below the same folder."""
    root = folder / "machine"
    for name in ("tmp", f"proc/{pid}"):
        (root / name).mkdir(parents=True)
    for name in ("tmp", "bin"):
        (folder / "inside" / name).mkdir(parents=True)
    ids = "\t".join([str(user)] * 4)
    (root / f"proc/{pid}/status").write_text(f"Name:\tvictim\nUid:\t{ids}\nNSpid:\t{pid}\t1\n")
    (root / f"proc/{pid}/root").symlink_to(folder / "inside")
    return root


def main(capture: str, folder: str, root: str, times: str = "1") -> None:
    """Import, and print what came of it."""
    query = _native.Query(0, 2**62, cpus=[], processes=[], threads=[], events=[], idle=True)
    window = _native.Window()
    Path(folder).mkdir()
    for number in range(int(times)):
        made = Path(folder, str(number))
        made.mkdir()
        _native.import_perf_data(capture, made, kallsyms=None, root=root, idle=[], interrupt=[])
        window.add(_native.Profile(made), query, "whole")
    names = sorted({stack[-1] for stack, _ in window.folded()})
    sys.stdout.write(json.dumps({"names": names, "memory_bytes": most_memory_bytes()}))


def most_memory_bytes() -> int:
    """Return the most that this program had in memory; `ru_maxrss` also counts whoever started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


if __name__ == "__main__":
    main(*sys.argv[1:])
