"""One fix at a time: the second is told who the first is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from necroscope.errors import FixHeldError, StoreError
from necroscope.recording.process_lock import AlreadyHeldError, is_held, locked, told_by
from necroscope.remedies.record.fixes import fixes_folder
from necroscope.remedies.transaction.machine_lock import held_machine
from necroscope.sources.host import Host

LOCK = "lock"
SOMEBODY = "another process"
TRIES = 5  # whoever lists the fixes holds it for an instant


@contextmanager
def held(store: Path, host: Host) -> Iterator[None]:
    """Hold the fixes of a store, and the machine itself, which may be fixed from another store as well.

    The kernel lets go when we end, however that is.
    """
    path = fixes_folder(store) / LOCK
    with ExitStack() as stack:
        try:
            store.mkdir(parents=True, exist_ok=True)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            stack.enter_context(locked(path, 0o600, tries=TRIES))
        except OSError as error:
            hint = "--store names a folder that can be written; nothing was changed"
            raise StoreError(f"{error.filename or path}: {error.strerror}", hint=hint) from error
        except AlreadyHeldError as error:
            raise _held_by(str(error.holder or SOMEBODY)) from error
        try:
            stack.enter_context(held_machine(host, TRIES))
        except AlreadyHeldError as error:
            raise _held_by(f"{error.holder or SOMEBODY}, with another --store") from error
        yield


def holder_of(store: Path) -> str:
    """Who carries out a fix with this store right now, in words; empty where nobody does."""
    path = fixes_folder(store) / LOCK
    return str(told_by(path) or SOMEBODY) if is_held(path) else ""


def _held_by(holder: str) -> FixHeldError:
    hint = "wait until it has ended; `necroscope fix --list` shows how far it is"
    return FixHeldError(f"a fix is being carried out by {holder}", hint=hint)
