"""Times as the API server writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(utc_ns: int) -> str:
    """In whole seconds."""
    return f"{datetime.fromtimestamp(utc_ns // 10**9, UTC):%Y-%m-%dT%H:%M:%SZ}"
