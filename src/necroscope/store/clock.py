"""One clock for everything recorded, and how it stands to the others.

Recorded times are nanoseconds of CLOCK_MONOTONIC. Anchors say what the other clocks showed at the same
instant: the wall clock, which may be set; CLOCK_BOOTTIME, which alone counts suspend; and
CLOCK_MONOTONIC_RAW, which alone is not slewed by NTP and so keeps step with the kernel's log clock.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from necroscope.model.timestamp import iso_utc

if TYPE_CHECKING:
    import ctypes

STEP_NS = 20_000_000  # the wall clock moved by more than this against CLOCK_MONOTONIC: it was set
MOST_TRIES = 3
TIMEX_BYTES = 256  # struct timex has 208 bytes on 64-bit machines
TIME_ERROR = 5  # what adjtimex returns while the clock is not synchronised


@dataclass(frozen=True, slots=True)
class Anchor:
    """The same instant on the recording's clock and on others. 0 and None: not known."""

    monotonic_ns: int
    utc_ns: int
    boot_ns: int = 0
    raw_ns: int = 0
    log_ns: int | None = None  # the kernel's log clock
    synchronised: bool = True  # whether the kernel held the wall clock to be right

    @property
    def offset_ns(self) -> int:
        """Add it to a recorded time to get UTC."""
        return self.utc_ns - self.monotonic_ns

    @property
    def suspended_ns(self) -> int:
        """How long the machine had been suspended since it booted."""
        return self.boot_ns - self.monotonic_ns

    def iso(self, monotonic_ns: int) -> str:
        """The time of day as text, to the millisecond."""
        return iso_utc(monotonic_ns + self.offset_ns)

    def stepped_from(self, before: Anchor) -> bool:
        """Whether the wall clock was set, or the machine suspended, between an earlier anchor and this."""
        return abs(self.offset_ns - before.offset_ns) > STEP_NS


def take_anchor() -> Anchor:
    """Read all clocks as close together as user space can.

    On a starved node we may be held up between two of them, which would look as if a clock was set.
    """
    best = min((_read_clocks() for _ in range(MOST_TRIES)), key=lambda read: read[0])
    _, monotonic, utc, boot, raw = best
    return Anchor(monotonic, utc, boot, raw, synchronised=_is_synchronised())


def _read_clocks() -> tuple[int, int, int, int, int]:
    before = time.monotonic_ns()
    utc = time.time_ns()
    boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    after = time.monotonic_ns()
    return after - before, (before + after) // 2, utc, boot, raw


def _is_synchronised() -> bool:
    """Whether NTP or the like keeps the wall clock; a machine that cannot say is believed."""
    import ctypes  # here: who only reads what was recorded does without

    try:
        return int(_libc().adjtimex(ctypes.create_string_buffer(TIMEX_BYTES))) != TIME_ERROR
    except AttributeError:
        return True


@cache
def _libc() -> ctypes.CDLL:
    import ctypes

    return ctypes.CDLL(None)
