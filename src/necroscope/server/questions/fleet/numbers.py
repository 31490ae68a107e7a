"""Numbers as JSON has them: what is infinite, or none, is left open."""

from __future__ import annotations

import math

from necroscope.server.questions.fleet_answers import Interval


def finite(number: float | None) -> float | None:
    """The number, where it is one."""
    return number if number is not None and math.isfinite(number) else None


def told_interval(interval: tuple[float, float]) -> Interval:
    """An interval whose sides may be open."""
    low, high = interval
    return Interval(finite(low), finite(high))
