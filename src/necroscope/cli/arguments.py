"""Words of the command line that several verbs understand."""

from __future__ import annotations

import argparse
import re
import stat
from pathlib import Path

UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def duration(text: str) -> float:
    """Seconds, from `10s`, `500ms`, `2m`, `1h`, or a plain number of seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip())
    if not match or match[2] not in UNITS:
        raise argparse.ArgumentTypeError(f"'{text}' is not a duration such as 10s, 2m or 1h")
    return float(match[1]) * UNITS[match[2]]


def look_duration(text: str) -> float:
    """A duration long enough to see a change in, and short enough to wait for."""
    seconds = duration(text)
    if not 1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not between 1s and 1h")
    return seconds


def folder(text: str) -> Path:
    """A directory that exists."""
    try:
        if stat.S_ISDIR(Path(text).stat().st_mode):
            return Path(text)
        why = "it is a file"
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
    raise argparse.ArgumentTypeError(f"'{text}' is not a directory we can enter: {why}")
