"""One recorder a store and host: the second is told who the first is."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from necroscope.errors import StoreError, StoreHeldError
from necroscope.recording.clock import Anchor

LOCK = ".recorder"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder of a host. The kernel lets go when we end, however that is."""
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        hint = "--store names a folder that can be written"
        raise StoreError(f"{error.filename}: {error.strerror}", hint=hint) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        hint = "stop that one first, or give this one another --store"
        raise StoreHeldError(f"{folder} is held by {_holder(path)}", hint=hint) from error
    try:
        os.ftruncate(descriptor, 0)
        with suppress(OSError):  # on a full disk nobody can be told who we are, but we hold it
            os.write(descriptor, json.dumps({"pid": os.getpid(), "since_ns": time.time_ns()}).encode())
        yield
    finally:
        os.close(descriptor)


def _holder(path: Path) -> str:
    try:
        document = json.loads(path.read_text())
        return f"the recorder with pid {document['pid']}, since {Anchor(0, 0).iso(document['since_ns'])}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another recorder"
