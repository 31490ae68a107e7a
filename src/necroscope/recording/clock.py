"""One clock for everything recorded, and how it stands to the time of day.

Recorded times are nanoseconds of CLOCK_MONOTONIC. The kernel's log clock runs beside it: both stop in
suspend, and they drift apart as NTP slews CLOCK_MONOTONIC: up to a second in a few hours.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Anchor:
    """The same instant on the recording's clock and as time of day."""

    monotonic_ns: int
    utc_ns: int

    def utc(self, monotonic_ns: int) -> datetime:
        """The time of day of a recorded instant."""
        nanoseconds = self.utc_ns + monotonic_ns - self.monotonic_ns
        return datetime.fromtimestamp(nanoseconds / 1e9, UTC)

    def iso(self, monotonic_ns: int) -> str:
        """The time of day as text, to the millisecond."""
        return self.utc(monotonic_ns).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def take_anchor() -> Anchor:
    """Read both clocks as close together as user space can."""
    before = time.monotonic_ns()
    utc = time.time_ns()
    after = time.monotonic_ns()
    return Anchor((before + after) // 2, utc)
