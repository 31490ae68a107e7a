"""How often a capture samples every busy core, by perf's command line."""

from __future__ import annotations

from itertools import pairwise

from necroscope.store.store import StoredSegment


def sampling_rate(segment: StoredSegment) -> int | None:
    """Samples a second; None where that is not known, as of an open segment or a text that was imported."""
    command = segment.description.get("profile", {}).get("command") or []
    for option, value in pairwise(command):
        if option == "-F" and str(value).isdigit():
            return int(value)
    return None
