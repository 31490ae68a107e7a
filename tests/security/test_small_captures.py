"""Attacks by what a capture holds: a little that becomes a lot in the memory of who reads it."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from necroscope import _native
from tests.security.made_captures import ANONYMOUS, Mapped, capture, record
from tests.unprivileged import CHECKOUT

COMM, FORK, SAMPLE, MMAP2, ATTR, COMPRESSED = 3, 7, 9, 10, 64, 81
FIELDS = 1 << 1 | 1 << 2 | 1 << 7  # TID, TIME, CPU
SAMPLE_ID_ALL = 1 << 18
PAGE = 1 << 12
# Reads a capture with 1 GiB at most, and prints the most memory that it took and what is missing.
READ = """
import resource, sys
from pathlib import Path
from necroscope import _native
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
facts = _native.import_perf_data(*sys.argv[1:], kallsyms=None, root=None, idle=[], interrupt=[])
status = Path("/proc/self/status").read_text()
print(int(status.partition("VmHWM:")[2].split()[0]) << 10, facts["samples"], *facts["gaps"], sep="\\n")
"""


def read(folder: Path, records: Iterable[bytes]) -> tuple[int, str]:
    """Import a capture with these records, and one sample; return the memory and what is missing."""
    attr = struct.pack("<IIQQQQQ", 1, 128, 0, 10**7, FIELDS, 0, SAMPLE_ID_ALL).ljust(128, b"\0")
    path = folder / "perf.data"
    with path.open("wb") as file:
        file.write(b"PERFILE2" + struct.pack("<Q", 16) + record(ATTR, attr + struct.pack("<Q", 1)))
        file.writelines(records)
        file.write(record(SAMPLE, trailer(1, 10**9), misc=2))
    (folder / "profile").mkdir()
    command = [sys.executable, "-c", READ, str(path), str(folder / "profile")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    path.unlink()
    assert done.returncode == 0, done.stderr
    memory_bytes, samples, *gaps = done.stdout.splitlines()
    assert samples == "1"
    return int(memory_bytes), "; ".join(gaps)


def trailer(pid: int, time_ns: int) -> bytes:
    return struct.pack("<IIQII", pid, pid, time_ns, 0, 0)


def mapping(pid: int, page: int, time_ns: int, path: str = ANONYMOUS) -> bytes:
    name = path.encode() + b"\0" * (8 - len(path) % 8)
    where = struct.pack("<IIQQQ", pid, pid, page * PAGE, PAGE, 0)
    flags = bytes(24) + struct.pack("<II", 5, 2)
    return record(MMAP2, where + flags + name + trailer(pid, time_ns), misc=2)


def fork(pid: int, time_ns: int) -> bytes:
    return record(FORK, struct.pack("<IIIIQ", pid, 1, pid, 1, time_ns) + trailer(1, time_ns))


def test_mappings_under_ever_new_names(tmp_path: Path) -> None:
    """200 MB of what one program can make the kernel write in four seconds."""
    names = (mapping(1, number, 1, f"/{number:07}/{'d' * 3900}") for number in range(50_000))
    memory_bytes, gaps = read(tmp_path, names)
    assert memory_bytes < 256 << 20
    assert "mappings, names and births of processes are more than fit in memory" in gaps


def test_forks_of_a_process_with_many_mappings(tmp_path: Path) -> None:
    """Each child maps a page of its own, and no longer shares the list with its parent."""
    parent = [mapping(1, number, 1) for number in range(20_000)]
    children = [fork(pid, 2) + mapping(pid, 20_000, 3) for pid in range(2, 602)]
    memory_bytes, gaps = read(tmp_path, [*parent, *children])
    assert memory_bytes < 512 << 20
    assert "mappings of forked processes are left out" in gaps


def test_as_many_mappings_as_a_large_node_has(tmp_path: Path) -> None:
    """600 processes with 600 mappings each, of which some were made at run time."""
    ours = (mapping(pid, page, 1, f"/lib/{page}") for pid in range(2, 602) for page in range(600))
    assert read(tmp_path, ours)[1] == ""


def test_a_capture_that_is_compressed_ten_thousand_times(tmp_path: Path) -> None:
    comm = record(COMM, struct.pack("<II", 1, 1) + b"hostile\0" + trailer(1, 1))
    stream = pa.Codec("zstd").compress(comm * ((60 << 20) // len(comm)), asbytes=True)
    assert len(stream) < 1 << 14
    memory_bytes, gaps = read(tmp_path, [record(COMPRESSED, stream)] * 20)
    assert memory_bytes < 256 << 20
    assert "the compressed records hold far more than records of perf do" in gaps


def test_many_places_in_files_with_long_paths(tmp_path: Path) -> None:
    """Every place without a name is kept with its file: 65,536 of them, below paths of 3.8 kB."""
    offsets = tuple(range(0x1000))
    long = "/".join(["d" * 250] * 15)
    made = capture(tmp_path / "perf.data", [Mapped(pid, f"/{long}/{pid}", offsets) for pid in range(1, 17)])
    command = [sys.executable, "-m", "tests.security.made_captures", str(made), str(tmp_path / "p"), "/none"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd=CHECKOUT)
    assert json.loads(done.stdout)["memory_bytes"] < 256 << 20


def test_folded_stacks_as_deep_as_a_line_is_long(tmp_path: Path) -> None:
    lines = [f"c;b{number}{';a' * 400_000} 1\n" for number in range(20)]
    (tmp_path / "deep.folded").write_text("".join(lines))
    gaps = _native.import_folded(tmp_path / "deep.folded", tmp_path, idle=[], interrupt=[])["gaps"]
    assert "20 stacks have more than 16384 frames and are cut" in "; ".join(gaps)
    window = _native.Window()
    query = _native.Query(-1, 10, cpus=[], processes=[], threads=[], events=[], idle=True)
    window.add(_native.Profile(tmp_path), query, "whole")
    assert {len(stack) for stack, _ in window.folded()} == {16_384}
