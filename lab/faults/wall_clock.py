"""Set the wall clock wrong for a few seconds, and right again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from necroscope.store.clock import take_anchor

SET_TIME = 25  # CAP_SYS_TIME


def why_not() -> str | None:
    """Why the clock cannot, or should not, be set here; or None."""
    if os.geteuid() != 0 or not _capabilities() >> SET_TIME & 1:
        return "needs root with CAP_SYS_TIME"
    if take_anchor().synchronised:
        return "NTP keeps this machine's clock: it is not set wrong for a test"
    return None


@contextmanager
def clock_set_by(seconds: float) -> Iterator[None]:
    """A wall clock that is wrong; in the end it shows what it would have shown."""
    right_ns = time.time_ns() - time.monotonic_ns()
    try:
        _show(right_ns + int(seconds * 1e9))
        yield
    finally:
        _show(right_ns)


def _show(offset_ns: int) -> None:
    time.clock_settime_ns(time.CLOCK_REALTIME, time.monotonic_ns() + offset_ns)


def _capabilities() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
