"""Durations, sizes and addresses as people write them."""

from __future__ import annotations

import re

SECONDS_PER = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BYTES_PER = {
    "": 1,
    "b": 1,
    **{unit: 1024**power for power, unit in enumerate(("kib", "mib", "gib", "tib"), 1)},
    **{unit: 1024**power for power, unit in enumerate(("k", "m", "g", "t"), 1)},
    **{unit: 1000**power for power, unit in enumerate(("kb", "mb", "gb", "tb"), 1)},
}
NUMBER = re.compile(r"(\d{1,18}(?:\.\d+)?)\s*([A-Za-z]*)")  # more digits than that are a slip


def parse_duration(text: str) -> float:
    """Seconds, from `10s`, `500ms`, `2m`, `1h`, `7d` or a plain number of seconds."""
    match = NUMBER.fullmatch(text.strip())
    if not match or match[2] not in SECONDS_PER:
        raise ValueError(f"'{text}' is not a duration such as 10s, 2m or 1h")
    return float(match[1]) * SECONDS_PER[match[2]]


def parse_size(text: str) -> int:
    """Bytes, from `8GiB`, `500MB`, `64M` or a plain number of bytes."""
    match = NUMBER.fullmatch(text.strip())
    if not match or match[2].lower() not in BYTES_PER:
        raise ValueError(f"'{text}' is not a size such as 8GiB or 500MB")
    return int(float(match[1]) * BYTES_PER[match[2].lower()])


def parse_address(text: str) -> tuple[str, int]:
    """HOST:PORT, an IPv6 address in brackets. The host must be there: nobody listens everywhere by accident.

    Raises ValueError.
    """
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r}: an IPv6 address has to be in brackets, as in [::1]:9464")
    if not (colon and host):
        raise ValueError(f"{text!r} is not HOST:PORT, as in 127.0.0.1:9464")
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise ValueError(f"{text!r}: {port!r} is not a port")
    return host, int(port)
