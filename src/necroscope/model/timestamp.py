"""Points in time: nanoseconds since 1970 (UTC), and how they are written."""

from __future__ import annotations

from datetime import UTC, datetime

SECOND_NS = 10**9
SECOND_US = 10**6
HOUR_US = 3600 * SECOND_US
LATEST_US = 4_102_444_800 * SECOND_US  # 2100: what a host sends of a later time is not believed
COMPACT = "%Y%m%dT%H%M%SZ"
COMPACT_HOUR = "%Y%m%dT%H"


def iso_utc(utc_ns: int) -> str:
    """Return a point in time as text, down to the millisecond: 2026-04-15T10:02:11.250Z."""
    when = datetime.fromtimestamp(utc_ns // 10**6 / 1000, UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def compact_utc(utc_ns: int) -> str:
    """Return a point in time as part of a file name, down to the second: 20260415T100211Z."""
    return f"{datetime.fromtimestamp(utc_ns // SECOND_NS, UTC):{COMPACT}}"


def parse_compact_utc(text: str) -> int:
    """Return the nanoseconds of a time in a file name. Raise ValueError if it is not one."""
    return int(datetime.strptime(text, COMPACT).replace(tzinfo=UTC).timestamp()) * SECOND_NS


def iso_utc_seconds(utc_ns: int) -> str:
    """Return a point in time as text, down to the second: 2026-04-15T10:02:11Z."""
    return f"{datetime.fromtimestamp(utc_ns // SECOND_NS, UTC):%Y-%m-%dT%H:%M:%SZ}"


def hour_of(utc_us: int) -> str:
    """Return the hour that a time is in, as part of a file name: 20260415T10."""
    return f"{datetime.fromtimestamp(utc_us // SECOND_US, UTC):{COMPACT_HOUR}}"


def hour_begin_us(hour: str) -> int:
    """Return when an hour begins, in microseconds. Raise ValueError if it is not one."""
    return int(datetime.strptime(hour, COMPACT_HOUR).replace(tzinfo=UTC).timestamp()) * SECOND_US
