"""After a crash: perf's files brought to the segments they belong to."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

from necroscope import _native
from necroscope.profiles.perf_command import DATA_NAME
from necroscope.profiles.perf_session import HEAD_BYTES, closed_files, read_status, sessions_in
from necroscope.profiles.segment_capture import HEAD_NAME
from necroscope.sources.plain_files import read_plain
from necroscope.store.store import StoredSegment

ORPHAN_SECONDS = 5.0
MAX_PID_FILE_BYTES = 100


def recover_captures(capture_folder: Path, segments: list[StoredSegment]) -> None:
    """Join what a dead recorder's perf left to the open segments, and clear its folder."""
    for path in end_orphans(capture_folder):
        with suppress(OSError, ValueError):
            if path.stat().st_nlink == 1 and (span := _native.perf_data_span(path)):
                _join(path, span, segments)
    shutil.rmtree(capture_folder, ignore_errors=True)


def _join(path: Path, span: tuple[int, int], segments: list[StoredSegment]) -> None:
    """Give a capture to the segment without one that it overlaps most."""
    without = [segment for segment in segments if not segment.capture.exists()]
    if not without:
        return
    best = max(without, key=lambda segment: _overlap_ns(segment, span))
    if _overlap_ns(best, span) > 0:
        os.link(path, best.capture)
        if head := max((closed for closed in closed_files(path.parent) if closed != path), default=None):
            os.link(head, best.folder / HEAD_NAME)


def _overlap_ns(segment: StoredSegment, span: tuple[int, int]) -> int:
    begin_ns, end_ns = segment.begin_ns - segment.offset_ns, segment.end_ns - segment.offset_ns
    return min(end_ns, span[1]) - max(begin_ns, span[0])


def end_orphans(folder: Path) -> list[Path]:
    """End any perf that a dead recorder left running, and say what files of samples there are, in order.

    The files stay: an unfinished one is read with the newest closed one beside it. May take some seconds.
    """
    files: list[Path] = []
    for session in sessions_in(folder):
        _end_orphan(session / "pid")
        files += closed_files(session)
        with suppress(OSError):
            unfinished = session / DATA_NAME
            files += [unfinished] if unfinished.stat().st_size > HEAD_BYTES else []
    return files


def _end_orphan(pid_file: Path) -> None:
    try:
        pid, start_ticks = map(int, read_plain(pid_file, MAX_PID_FILE_BYTES).split())
    except (OSError, ValueError):  # it ended, or a full disk kept us from writing it
        return
    for number in (signal.SIGINT, signal.SIGKILL):
        end = time.monotonic() + ORPHAN_SECONDS
        if _is_that_perf(pid, start_ticks):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        while _is_that_perf(pid, start_ticks) and time.monotonic() < end:
            time.sleep(0.02)
    with suppress(OSError):
        pid_file.unlink()


def _is_that_perf(pid: int, start_ticks: int) -> bool:
    """Whether a process runs that is perf and not another of the same number."""
    status = read_status(pid)
    if status is None or status.state in "ZX":  # in a container there may be nobody to wait for a zombie
        return False
    return status.start_ticks == start_ticks and status.comm.startswith("perf")
