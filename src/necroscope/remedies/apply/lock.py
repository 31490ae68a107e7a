"""One fix at a time: the second is told who the first is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from necroscope.errors import FixHeldError, StoreError
from necroscope.remedies.apply.fixes_folder import FILE_MODE, make_fixes_folder, opened_fixes
from necroscope.remedies.apply.machine_lock import held_machine
from necroscope.sources.host import Host
from necroscope.store.process_lock import AlreadyHeldError, is_held, locked, told_by

LOCK = Path("lock")
SOMEBODY = "another process"
TRIES = 5  # whoever lists the fixes holds it for an instant


@contextmanager
def held(store: Path, host: Host) -> Iterator[None]:
    """Hold the fixes of a store, and the machine itself, which may be fixed from another store as well.

    The kernel lets go when we end, however that is.
    """
    with ExitStack() as stack:
        try:
            make_fixes_folder(store)
            folder = stack.enter_context(opened_fixes(store))
            stack.enter_context(locked(LOCK, FILE_MODE, tries=TRIES, dir_fd=folder.descriptor))
        except OSError as error:
            hint = "--store names a folder that can be written; nothing was changed"
            what = f"{error.filename or store}: {error.strerror or error}"
            raise StoreError(what, hint=hint) from error
        except AlreadyHeldError as error:
            raise _held_by(str(error.holder or SOMEBODY)) from error
        try:
            stack.enter_context(held_machine(host, TRIES))
        except AlreadyHeldError as error:
            raise _held_by(f"{error.holder or SOMEBODY}, with another --store") from error
        yield


def holder_of(store: Path) -> str:
    """Who carries out a fix with this store right now, in words; empty where nobody does."""
    try:
        with opened_fixes(store) as folder:
            if not is_held(LOCK, dir_fd=folder.descriptor):
                return ""
            return str(told_by(LOCK, dir_fd=folder.descriptor) or SOMEBODY)
    except OSError:
        return ""


def _held_by(holder: str) -> FixHeldError:
    hint = "wait until it has ended; `necroscope fix --list` shows how far it is"
    return FixHeldError(f"a fix is being carried out by {holder}", hint=hint)
