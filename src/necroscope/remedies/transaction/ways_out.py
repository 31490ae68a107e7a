"""The commands that end a fix which stopped in the middle, as they have to be typed here."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from necroscope.errors import StoreError
from necroscope.model.fix import Fix, FixState
from necroscope.recording.store_place import default_store

LIKE_OPTION = "-."  # the units of the root: -.mount, -.slice


def our_command(words: Sequence[str], root: str | Path, store: Path | None) -> str:
    """A command of ours, with --root and --store where those are not the usual ones."""
    at_root = ["--root", str(root)] if Path(root) != Path("/") else []
    at_store = ["--store", str(store)] if store not in (None, _usual_store()) else []
    if not any(word.startswith(LIKE_OPTION) for word in words):
        return shlex.join(["necroscope", *words, *at_root, *at_store])
    verb, *others = words
    options = [word for word in others if word.startswith("--")]
    names = [word for word in others if word not in options]
    return shlex.join(["necroscope", verb, *options, *at_root, *at_store, "--", *names])


def undo_command(fix: Fix, store: Path) -> str:
    """What takes a fix back."""
    return our_command(["fix", "--undo", fix.id], fix.plan.root, store)


def ways_out(fix: Fix, store: Path) -> str:
    """What can be done about a fix, or an undo, that stopped in the middle."""
    back = undo_command(fix, store)
    if fix.state is FixState.UNDOING:
        return f"`{back}` tries the rest again; with --force what cannot be taken back is left as it is"
    flags = ["--even-vital"] if fix.plan.vital else []
    on = our_command(["fix", "--continue", fix.id, *flags], fix.plan.root, store)
    return f"`{back}` takes back what was done, `{on}` tries the rest again"


def _usual_store() -> Path | None:
    try:
        return default_store()
    except StoreError:
        return None
