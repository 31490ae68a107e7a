"""What verbs say about segments that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.cli.screen import note
from necroscope.store.store import Damage


def tell_damaged(damaged: Sequence[Damage]) -> list[dict[str, str]]:
    """A note for whoever watches, one a segment; the same for machines comes back."""
    first = {damage.folder: damage for damage in reversed(damaged)}
    rows = [{"folder": str(folder), "what": first[folder].error.what} for folder in sorted(first)]
    for row in rows:
        note(f"left out: {row['what']}")
    return rows
