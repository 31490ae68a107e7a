"""The kernel's log clock tied to CLOCK_MONOTONIC.

Both stop in suspend, but NTP slews only CLOCK_MONOTONIC: up to a second in a few hours. The log clock
keeps step with CLOCK_MONOTONIC_RAW, so one measurement holds for long, and is renewed every hour: a mark is
written to /dev/kmsg between two looks at the clock and read back. Where we may not write, lines that arrive
tell: none can arrive before it was logged, and the quickest arrival is nearest to the truth.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from dataclasses import dataclass, replace

from necroscope.model.reading import Reading
from necroscope.sources.host import Host
from necroscope.sources.kernel_log import KMSG_DEVICE, KernelLog, LogLine
from necroscope.store.clock import Anchor, take_anchor

MARK = "necroscope: the log clock is compared with CLOCK_MONOTONIC"
RENEW_NS = 3600 * 10**9
DEBUG = 7  # not shown on consoles
PREEMPTED_NS = 1_000_000  # a bracket wider than this was interrupted, and says little
DRIFT_PPM = 20  # between the log clock and CLOCK_MONOTONIC_RAW, at most


@dataclass(slots=True)
class LogClock:
    """How far the log clock is behind CLOCK_MONOTONIC_RAW; None until something told."""

    host: Host
    behind_ns: int | None = None
    basis: str = "not measured: taken to be CLOCK_MONOTONIC"
    _measured_raw_ns: int = 0
    _marked: str | None = None  # the text of our last mark; a line of the log may be empty
    _bracket: tuple[int, int] = (0, 0)  # CLOCK_MONOTONIC_RAW before and after it
    _is_awaited: bool = False  # whether it is still to be read: any program may write the same line again
    _has_read: bool = False

    def mark(self) -> bool:
        """Write a mark if one is due; False where we may not."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        if self._marked and now - self._bracket[1] < RENEW_NS:
            return True
        try:
            descriptor = open_device(self.host)
        except OSError:
            return False
        try:
            text = f"{MARK} ({os.getpid()}, {now})"
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            # Without the newline the record would stay open for a continuation, and unreadable.
            os.write(descriptor, f"<{DEBUG}>{text}\n".encode())
            self._marked, self._bracket = text, (before, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))
            self._is_awaited = True
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True

    def anchor(self) -> Anchor:
        """All clocks now, the log clock among them."""
        anchor = take_anchor()
        if self.behind_ns is None:
            return anchor
        return replace(anchor, log_ns=anchor.raw_ns - self.behind_ns)

    def calibrated(self, reading: Reading[KernelLog]) -> Reading[KernelLog]:
        """The same lines with their times on CLOCK_MONOTONIC; our own marks are used up and left out."""
        if reading.value is None or not reading.value.lines:
            self._has_read = self._has_read or reading.value is not None
            return reading
        raw_now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        slewed_ns = time.monotonic_ns() - raw_now
        kept = []
        for line in reading.value.lines:
            if self._is_awaited and line.text == self._marked:
                self._is_awaited = False
                self._take_mark(line)
            elif not line.text.startswith(MARK):
                kept.append(line)
        # The first reading is history: its lines arrived long before we looked.
        if kept and self._has_read:
            self._take_arrival(kept[-1], raw_now)
        self._has_read = True
        shift = 0 if self.behind_ns is None else self.behind_ns + slewed_ns
        lines = tuple(replace(line, time_ns=line.time_ns + shift) for line in kept)
        return Reading(replace(reading.value, lines=lines))

    def _take_mark(self, line: LogLine) -> None:
        before, after = self._bracket
        if after - before < PREEMPTED_NS or self.behind_ns is None:
            self.behind_ns, self._measured_raw_ns = (before + after) // 2 - line.time_ns, after
            self.basis = "a mark in the kernel log"

    def _take_arrival(self, line: LogLine, raw_now: int) -> None:
        behind = raw_now - line.time_ns
        drifted = (raw_now - self._measured_raw_ns) * DRIFT_PPM // 10**6
        if self.behind_ns is None or behind < self.behind_ns - PREEMPTED_NS - drifted:
            self.behind_ns, self._measured_raw_ns = behind, raw_now
            self.basis = "the quickest arrival of a line"


def open_device(host: Host) -> int:
    """The log to write to. Never a plain file: that is somebody's recording, and a mark would spoil it."""
    path = host.path("/dev/kmsg")
    status = path.stat()
    if not host.is_live or not stat.S_ISCHR(status.st_mode) or status.st_rdev != KMSG_DEVICE:
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), str(path))
    return os.open(path, os.O_WRONLY | os.O_CLOEXEC)
