"""Lengths of time as systemd writes them: `5min 20s`, `100ms`, `10` for seconds, `infinity`."""

from __future__ import annotations

import math
import re

_UNITS = {
    **dict.fromkeys(("usec", "us", "µs", "μs"), 1e-6),
    **dict.fromkeys(("msec", "ms"), 1e-3),
    **dict.fromkeys(("seconds", "second", "sec", "s", ""), 1.0),
    **dict.fromkeys(("minutes", "minute", "min", "m"), 60.0),
    **dict.fromkeys(("hours", "hour", "hr", "h"), 3600.0),
    **dict.fromkeys(("days", "day", "d"), 86400.0),
    **dict.fromkeys(("weeks", "week", "w"), 604800.0),
    **dict.fromkeys(("months", "month", "M"), 2629800.0),
    **dict.fromkeys(("years", "year", "y"), 31557600.0),
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([A-Za-zµμ]*)\s*")


def parse_time_span(text: str) -> float:
    """Seconds; infinite where it says so. Raises ValueError for what systemd would not take."""
    text = text.strip()
    if text == "infinity":
        return math.inf
    total, at = 0.0, 0
    while match := _PART.match(text, at):
        if match[2] not in _UNITS:
            break
        total += float(match[1]) * _UNITS[match[2]]
        at = match.end()
    if not text or at < len(text):
        raise ValueError(f"{text} is no length of time")
    return total
