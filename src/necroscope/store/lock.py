"""One recorder a store and host: the second is told who the first is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from necroscope.errors import StoreError, StoreHeldError
from necroscope.store.process_lock import LOCK_MODE, AlreadyHeldError, is_held, locked, told_by
from necroscope.store.trusted_folder import make_trusted

LOCK = ".recorder"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder of a host. The kernel lets go when we end, however that is."""
    path = folder / LOCK
    with ExitStack() as stack:
        try:
            if is_held(path):  # nothing of it is changed then, whoever owns it
                raise AlreadyHeldError(told_by(path))
            make_trusted(folder)
            stack.enter_context(locked(path, LOCK_MODE))
        except OSError as error:
            hint = "--store names a folder that can be written"
            raise StoreError(f"{error.filename or path}: {error.strerror}", hint=hint) from error
        except AlreadyHeldError as error:
            holder = f"the recorder with {error.holder}" if error.holder else "another recorder"
            hint = "stop that one first, or give this one another --store"
            raise StoreHeldError(f"{folder} is held by {holder}", hint=hint) from error
        yield
