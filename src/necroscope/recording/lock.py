"""One recorder a store and host: the second is told who the first is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from necroscope.errors import StoreError, StoreHeldError
from necroscope.recording.process_lock import AlreadyHeldError, locked

LOCK = ".recorder"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder of a host. The kernel lets go when we end, however that is."""
    path = folder / LOCK
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(path, 0o644))
        except OSError as error:
            hint = "--store names a folder that can be written"
            raise StoreError(f"{error.filename or path}: {error.strerror}", hint=hint) from error
        except AlreadyHeldError as error:
            holder = f"the recorder with {error.holder}" if error.holder else "another recorder"
            hint = "stop that one first, or give this one another --store"
            raise StoreHeldError(f"{folder} is held by {holder}", hint=hint) from error
        yield
