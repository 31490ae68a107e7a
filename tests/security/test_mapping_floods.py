"""Attacks by mappings: a program that maps files under long names, over and over, or has many of them.

The kernel reports every mapping of code to perf, with a path of up to 4 kB. Nobody may fill the disk that
way, evict what was recorded before, or end profiling for good.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from necroscope.errors import ImportFileError
from necroscope.profiles import capture as captures_of_perf
from necroscope.profiles.capture import TOO_LARGE, Capture
from necroscope.profiles.perf_command import NO_NAMES
from necroscope.sources.host import Host
from necroscope.store.retention import Budget, make_room
from necroscope.store.seal import seal_recorded
from necroscope.store.store import CAPTURE
from tests.profiles import captures
from tests.stored import HOST, UTC_NS, event_of, open_segment, seconds_of

# A file in folders with a long path; the outermost gets another name before each mapping.
FLOOD = """
import mmap, os, sys
os.chdir(sys.argv[1])
os.mkdir("t0")
os.chdir("t0")
for _ in range(14):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
file = os.open("f", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 4096)
top = os.open(sys.argv[1], os.O_RDONLY)
for number in range(10**9):
    os.rename(f"t{number}", f"t{number + 1}", src_dir_fd=top, dst_dir_fd=top)
    mmap.mmap(file, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
"""
# Four processes that sleep, each with as many mappings as the kernel permits by default.
MANY = """
import ctypes, os, sys, time
os.chdir(sys.argv[1])
for _ in range(14):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
file = os.open("f", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 4096)
mmap = ctypes.CDLL(None).mmap
mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for _ in range(60_000):
    mmap(None, 4096, 5, 2, file, 0)
os.fork()
os.fork()
if os.getpid() == os.getsid(0):
    print("ready", flush=True)
time.sleep(600)
"""


def tick_until_too_large(capture: Capture) -> None:
    """Tick as a recorder does, until perf was ended for its file."""
    end = time.monotonic() + 15
    while capture.error != TOO_LARGE and time.monotonic() < end:
        capture.tick(time.monotonic_ns())
        time.sleep(0.05)
    assert capture.error == TOO_LARGE


def tick_until_ready(capture: Capture) -> None:
    end = time.monotonic() + 15
    while not capture.is_ready and time.monotonic() < end:
        capture.tick(time.monotonic_ns())
        time.sleep(0.05)
    assert capture.is_ready


def test_a_flood_of_mappings_ends_with_a_bounded_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures.require_perf()
    monkeypatch.setattr(captures_of_perf, "FREE_BYTES", 8 << 20)
    (tmp_path / "victim").mkdir()
    capture = Capture(tmp_path / "captures", Host(), 49)
    capture.start()
    try:
        tick_until_ready(capture)
        assert capture.current_folder
        pid = int((capture.current_folder / "pid").read_text().split()[0])
        limit, _ = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        assert 0 < limit < 32 << 20, "the kernel ends it if nobody looks"
        with captures.running([sys.executable, "-S", "-c", FLOOD, str(tmp_path / "victim")]):
            tick_until_too_large(capture)
        written = sum(path.stat().st_size for path in (tmp_path / "captures").rglob(f"{CAPTURE}*"))
        assert written < 64 << 20
        tick_until_ready(capture)
        assert not capture.error
        assert NO_NAMES in capture.left_out, "nobody reads mappings that may fill the next file"
        monkeypatch.setattr(capture, "_few_maps_until_ns", 1)
        before = capture.current_folder
        end = time.monotonic() + 15
        while capture.current_folder == before and time.monotonic() < end:
            capture.tick(time.monotonic_ns())
            time.sleep(0.05)
        assert NO_NAMES not in capture.left_out, "and not for ever"
    finally:
        capture.stop(5)


def test_sleeping_processes_with_many_mappings_cost_little(tmp_path: Path) -> None:
    """perf reads the mappings of all processes when it starts, and again at every switch."""
    captures.require_perf()
    (tmp_path / "victim").mkdir()
    capture = Capture(tmp_path / "captures", Host(), 49)
    command = [sys.executable, "-S", "-c", MANY, str(tmp_path / "victim")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            capture.start()
            tick_until_ready(capture)
            assert capture.cpu_seconds() < 1, "it was half a second for each"
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            capture.stop(5)


def unreadable(capture: Path, *_: object) -> Mapping[str, Any]:
    """Seal as if nobody could read the samples."""
    raise ImportFileError(f"{capture}: not read")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A host's folder with four sealed segments, of which two have a capture that was not read."""
    moments = seconds_of(["idle"] * 25)
    for number in range(4):
        events = [event_of("oom-kill", 1)] if number == 0 else []
        segment = open_segment(tmp_path, moments[number * 5 : number * 5 + 6], events, ended="full")
        if number in (1, 2):
            fill(segment.folder)
        seal_recorded(segment, unreadable)
    open_segment(tmp_path, moments[20:])
    return tmp_path / HOST


def fill(folder: Path) -> None:
    """Give a segment a capture of 32 MiB, without room on the disk."""
    with (folder / CAPTURE).open("wb") as file:
        file.truncate(32 << 20)


def names_after(folder: Path, budget_bytes: int, kept_bytes: int = 0) -> list[str]:
    """Make room, and return the names of what is left."""
    return [entry.name for entry in make_room(folder, Budget(budget_bytes, kept_bytes, 10**9), UTC_NS)]


def test_an_open_capture_evicts_nothing(folder: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    fill(folder / before[-1])
    assert names_after(folder, 16 << 20) == before
    assert (folder / before[-1] / CAPTURE).exists()


def test_captures_that_were_not_read_evict_nothing(folder: Path) -> None:
    """They are kept for somebody to look at, the newest of them, while there is room beside the segments."""
    before = sorted(path.name for path in folder.iterdir())
    assert names_after(folder, 384 << 20) == before
    assert [(folder / name / CAPTURE).exists() for name in before] == [False, False, True, False, False]
    assert names_after(folder, 16 << 20) == before
    assert not list(folder.rglob(CAPTURE))


def test_a_large_segment_with_events_leaves_protection_to_others(folder: Path) -> None:
    """An OOM kill is easy to cause; the segment beside it is protected with it."""
    first, *others = sorted(path.name for path in folder.iterdir())
    (folder / others[0] / "large").write_bytes(bytes(1 << 20))
    assert names_after(folder, 1 << 18, 1 << 17) == [first, *others[1:]]
