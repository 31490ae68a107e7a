"""The samples of every segment in its own folder: perf's files joined to the segments they belong to.

A segment has one capture at most. Its file gets a second name in the segment's folder as soon as perf opens
it, so that nothing has to be found again after a crash; where its head is not written yet, the file before it
stands beside it, from which a reader takes the events.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from necroscope.model.event import Event
from necroscope.profiles.capture import Capture, Closed, Ended, Ready
from necroscope.profiles.perf_session import closed_files
from necroscope.store.store import CAPTURE

STOP_SECONDS = 10.0
HEAD_NAME = f"{CAPTURE}.0"  # a closed file of the same perf


class SegmentCapture:
    """What the recorder calls a profiler."""

    def __init__(self, capture: Capture, folder: Path) -> None:
        self.wants_new_segment = False
        self.capture = capture
        self._folder = folder  # of the capture
        self._segment: Path | None = None
        self._session = 0  # whose samples the segment has
        self._waiting: list[tuple[int, Path]] = []  # segments that ended, by session
        self._hole: tuple[int, str] | None = None  # since when, and why
        self._joined: tuple[Path, Path] | None = None  # the session and the segment that share a file
        self._overlaps = False  # whether another perf samples already, beside the one of the segment
        capture.start()

    def begin_segment(self, folder: Path) -> int | None:
        """The samples from now on belong to another folder."""
        old, self._segment = self._segment, folder
        changes = self.wants_new_segment
        self.wants_new_segment = False
        if changes:  # another perf has taken over, or will
            if old and self._session:
                self._waiting.append((self._session, old))
            overlaps, self._session, self._overlaps = self._overlaps, 0, False
            self.capture.retire_old()
            self._join()
            return time.monotonic_ns() if overlaps else None
        if old and self._session and self.capture.switch():
            self._waiting.append((self._session, old))
        return None

    def tick(self) -> Sequence[Event]:
        """Look after perf; the holes that are closed now."""
        events: list[Event] = []
        now_ns = time.monotonic_ns()
        for news in self.capture.tick(now_ns):
            match news:
                case Ready(session, at_ns):
                    events += self._ready(session, at_ns)
                case Closed(session, path):
                    self._closed(session, path)
                case Ended():
                    self._ended(news)
        self._join()
        return events

    def is_done_with(self, folder: Path) -> bool:
        """Whether perf has closed the file of a segment that ended."""
        return all(waiting != folder for _, waiting in self._waiting)

    def stop(self) -> Sequence[Event]:
        """End perf; the open segment gets its last samples."""
        hole, self._hole = self._hole, None
        if self._segment and self._session:
            self._waiting.append((self._session, self._segment))
        for news in self.capture.stop(STOP_SECONDS):
            match news:
                case Closed(session, path):
                    self._closed(session, path)
                case Ended():
                    self._ended(news)
        remove_if_empty(self._folder)
        return [gap(hole[0], time.monotonic_ns(), hole[1])] if hole else []

    def _ready(self, session: int, at_ns: int) -> list[Event]:
        hole, self._hole = self._hole, None
        if hole:
            return [gap(hole[0], at_ns, hole[1])]
        if self._session and session != self._session:  # a replacement takes over with a new segment
            self.wants_new_segment = self._overlaps = True
        return []

    def _closed(self, session: int, path: Path) -> None:
        segment = next((folder for number, folder in self._waiting if number == session), None)
        if segment:
            self._waiting.remove((session, segment))
            _link(path, segment / CAPTURE)
        for older in sorted(closed_files(path.parent))[:-1]:  # the newest has the head of the next
            with suppress(OSError):
                older.unlink()

    def _ended(self, news: Ended) -> None:
        is_saved = True
        # Between the end of a segment and perf's next file, what it left belongs to the segment that ended.
        ended = next((folder for number, folder in self._waiting if number == news.session), None)
        segment = ended or (self._segment if news.session == self._session else None)
        if news.leftover and segment:
            is_saved = _link(news.leftover, segment / CAPTURE)
            if news.head:
                _link(news.head, segment / HEAD_NAME)
        if news.session == self._session:
            self._hole = self._hole or (news.monotonic_ns, news.reason)
            self.wants_new_segment = True
            self._session = 0  # nothing more will come of it
        self._waiting = [(number, folder) for number, folder in self._waiting if number != news.session]
        if is_saved:
            _remove_files(self._folder / str(news.session))

    def _join(self) -> None:
        """Give the file that perf writes now its second name, if it has none yet."""
        session = self.capture.current_folder
        if self._segment is None or session is None or self.wants_new_segment or self._waiting_for(session):
            return
        if self._joined == (session, self._segment):
            return
        if _link(session / CAPTURE, self._segment / CAPTURE):
            self._joined = session, self._segment
            self._session = int(session.name)
            if head := max(closed_files(session), default=None):
                _link(head, self._segment / HEAD_NAME)

    def _waiting_for(self, session: Path) -> bool:
        return any(number == int(session.name) for number, _ in self._waiting)


def gap(begin_ns: int, end_ns: int, why: str) -> Event:
    """A stretch of time without samples."""
    seconds = round((end_ns - begin_ns) / 1e9, 3)
    return Event(
        "capture-gap", begin_ns, "perf", f"no samples for {seconds} s: {why}", seconds=max(seconds, 0.0)
    )


def _remove_files(session: Path) -> None:
    """What an ended perf wrote has its place in the segments now."""
    for path in session.glob(f"{CAPTURE}*"):
        with suppress(OSError):
            path.unlink()


def remove_if_empty(folder: Path) -> None:
    """Remove the folder of a capture that has ended, unless something in it has found no place."""
    for path in (*folder.glob("*"), folder):
        with suppress(OSError):
            path.rmdir()


def _link(path: Path, name: Path) -> bool:
    """Give a file a second name; False where there is no such file."""
    try:
        if name.exists():
            if name.samefile(path):
                return True
            name.unlink()
        os.link(path, name)
    except OSError:
        return False
    return True
