"""After a crash: perf's files brought to the segments they belong to."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from necroscope import _native
from necroscope.profiles.perf_session import closed_files, remove_leftovers
from necroscope.profiles.segment_capture import HEAD_NAME
from necroscope.recording.store import StoredSegment


def recover_captures(capture_folder: Path, segments: list[StoredSegment]) -> None:
    """Join what a dead recorder's perf left to the open segments, and clear its folder."""
    for path in remove_leftovers(capture_folder):
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
