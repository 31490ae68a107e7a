"""When to try again after a failure, and until when."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

JITTER_RATIO = 0.2  # of a pause: a thousand nodes that were started together must not come together
MAX_DOUBLINGS = 30


def add_jitter(seconds: float) -> float:
    """Return a pause that differs a little between nodes."""
    return seconds * random.uniform(1 - JITTER_RATIO, 1 + JITTER_RATIO)


@dataclass(frozen=True, slots=True)
class Retry:
    """The pause after a failure, doubled with each one in a row."""

    first_seconds: float
    max_seconds: float

    def pause_seconds(self, failures: int) -> float:
        """Return how long to wait after so many failures in a row, at least one."""
        doubled = self.first_seconds * 2.0 ** min(failures - 1, MAX_DOUBLINGS)
        return add_jitter(min(doubled, self.max_seconds))


class Deadline:
    """The end of the time that some work may take."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Return the seconds that are left; negative when it is over."""
        return self._end - time.monotonic()
