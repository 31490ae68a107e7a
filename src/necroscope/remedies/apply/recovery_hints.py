"""The commands that end a fix which stopped in the middle, as they have to be typed here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from necroscope.errors import StoreError
from necroscope.model.fix import Fix, FixState
from necroscope.model.shell_command import necroscope_command, option
from necroscope.store.store_place import default_store


def our_command(
    verb: str,
    names: Sequence[str],
    options: Sequence[str],
    root: str | Path,
    store: Path | None,
) -> str:
    """Return a command of ours, with --root and --store if those are not the usual ones."""
    at_root = option("--root", str(root)) if Path(root) != Path("/") else ()
    at_store = option("--store", str(store)) if store not in (None, _usual_store()) else ()
    return necroscope_command(verb, names, [*options, *at_root, *at_store])


def undo_command(fix: Fix, store: Path, *options: str) -> str:
    """What takes a fix back."""
    return our_command("fix", (), (*option("--undo", fix.id), *options), fix.plan.root, store)


def ways_out(fix: Fix, store: Path) -> str:
    """What can be done about a fix, or an undo, that stopped in the middle."""
    back = undo_command(fix, store)
    if fix.state is FixState.UNDOING:
        return f"`{back}` tries the rest again; with --force what cannot be taken back is left as it is"
    flags = ["--even-vital"] if fix.plan.vital else []
    on = our_command("fix", (), (*option("--continue", fix.id), *flags), fix.plan.root, store)
    return f"`{back}` takes back what was done, `{on}` tries the rest again"


def _usual_store() -> Path | None:
    try:
        return default_store()
    except StoreError:
        return None
