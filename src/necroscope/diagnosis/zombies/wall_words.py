"""A trend and the wall in words."""

from __future__ import annotations

from necroscope.diagnosis.zombies.wall import FEWEST_SECONDS, Outlook, Wall
from necroscope.model.amounts import time_text
from necroscope.statistics.theil_sen import FEWEST_POINTS, Trend

MINUTE = 60.0


def reached_text(wall: Wall) -> str:
    """When the wall is reached, or why that cannot be said."""
    match wall.outlook:
        case Outlook.AHEAD:
            early, late = time_text(wall.earliest_seconds or 0), time_text(wall.latest_seconds or 0)
            return f"in {time_text(wall.seconds or 0)} ({early} to {late}) if it goes on like this"
        case Outlook.BEYOND:
            return "already"
        case Outlook.NO_TREND:
            return "no trend: the interval of the slope contains zero"
        case Outlook.FALLING:
            return "not in sight: the number is falling"
        case Outlook.TOO_SHORT:
            wanted = time_text(FEWEST_SECONDS)
            return f"not known: it needs {wanted} of recording or more (necroscope record)"
        case Outlook.NO_LEVEL:
            return "not known: no cost has a level here"


def rate_text(trend: Trend | None) -> str:
    """How fast a count grows, with its interval."""
    if trend is None:
        return f"not known with fewer than {FEWEST_POINTS} readings"
    slope = trend.slope
    if not slope.is_trend:
        return "no trend"
    value, low, high = (x * MINUTE for x in (slope.value, slope.low, slope.high))
    return f"{_signed(value)} a minute ({_signed(low)} to {_signed(high)})"


def _signed(value: float) -> str:
    """Three digits, and never as a power of ten."""
    return f"{value:+,.0f}" if abs(value) >= 1000 else f"{value:+.3g}"
