"""Keep one core busy, in the kernel or in user space."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

# Clearing memory for reads of /dev/zero is pure kernel work: 16 MiB a system call.
KERNEL_LOOP = ("dd", "if=/dev/zero", "of=/dev/null", "bs=16M", "status=none")
USER_LOOP = (sys.executable, "-c", "while True: pass")


@contextmanager
def kernel_hog(core: int) -> Iterator[int]:
    """A loop of long system calls on one core; gives its pid."""
    with _pinned(core, KERNEL_LOOP) as pid:
        yield pid


@contextmanager
def user_hog(core: int) -> Iterator[int]:
    """A loop in user space on one core; gives its pid."""
    with _pinned(core, USER_LOOP) as pid:
        yield pid


@contextmanager
def _pinned(core: int, command: Sequence[str]) -> Iterator[int]:
    process = subprocess.Popen(["taskset", "--cpu-list", str(core), *command])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()
