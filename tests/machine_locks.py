"""Locks that keep the tests of several clones from disturbing each other on one machine."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.tiers import ALONE, SMOKE_FILE, ZOMBIES, touches_machine


@contextmanager
def machine_shared(file: str, *, has_servers: bool) -> Iterator[None]:
    """Wait for tests elsewhere that would disturb those of a file, and keep such tests waiting meanwhile.

    Every test that touches the machine shares the lock "machine"; those of ALONE have it for themselves.
    """
    with ExitStack() as stack:
        if os.geteuid() == 0:  # nobody else can touch the machine
            if file in ALONE:
                stack.enter_context(_locked("machine", fcntl.LOCK_EX))
            elif touches_machine(file) or file == SMOKE_FILE or has_servers:
                stack.enter_context(_locked("machine", fcntl.LOCK_SH))
            if file in ZOMBIES:
                stack.enter_context(_locked("zombies", fcntl.LOCK_EX))
        yield


@contextmanager
def _locked(name: str, how: int) -> Iterator[None]:
    path = Path(f"/run/necroscope-tests-{name}.lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for tests in another worker or clone ({path})", file=sys.__stderr__, flush=True)
            fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)
