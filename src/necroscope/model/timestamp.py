"""Points in time: nanoseconds since 1970 (UTC), and how they are written."""

from __future__ import annotations

from datetime import UTC, datetime

SECOND_NS = 10**9
SECOND_US = 10**6


def iso_utc(utc_ns: int) -> str:
    """Return a point in time as text, down to the millisecond: 2026-04-15T10:02:11.250Z."""
    when = datetime.fromtimestamp(utc_ns // 10**6 / 1000, UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_utc_seconds(utc_ns: int) -> str:
    """Return a point in time as text, down to the second: 2026-04-15T10:02:11Z."""
    return f"{datetime.fromtimestamp(utc_ns // SECOND_NS, UTC):%Y-%m-%dT%H:%M:%SZ}"
