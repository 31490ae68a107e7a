"""How often a capture samples every busy core, by perf's command line."""

from __future__ import annotations

from itertools import pairwise

from necroscope.store.store import StoredSegment


def sampling_rate(segment: StoredSegment) -> int | None:
    """Samples a second; None where that is not known, as of an open segment or a text that was imported."""
    for option, value in pairwise(segment.description.profile.command or ()):
        if option == "-F" and value.isdigit():
            return int(value)
    return None
