"""Mount tracefs at its usual place, as systemd does at boot: a machine without systemd may lack it.

    with tracefs_mounted():
        ...                     # the ledger of cgroups can be kept

If it cannot be mounted (no root, no such file system), nothing happens: the program reports what is missing.
Several runs may need it at the same time; the last one unmounts it.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TRACEFS = Path("/sys/kernel/tracing")
NAME = "necroscope-lab"  # what it is mounted from, so that we unmount only what one of us has mounted
LOCK = Path("/run/necroscope-lab-tracefs.lock")


@contextmanager
def tracefs_mounted() -> Iterator[None]:
    """Mount it unless it is mounted, and unmount it at the end unless somebody else did that."""
    if os.geteuid() != 0:
        yield
        return
    descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # held by everyone who uses it
        if not (TRACEFS / "instances").is_dir():
            _run("mount", "-n", "-t", "tracefs", NAME, str(TRACEFS))
        try:
            yield
        finally:
            _unmount_if_last(descriptor)
    finally:
        os.close(descriptor)


def _unmount_if_last(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    if any(words[:2] == [NAME, str(TRACEFS)] for words in mounts):
        _run("umount", "-n", "--lazy", str(TRACEFS))  # a perf that is just ending may have a file of it open


def _run(*command: str) -> None:
    subprocess.run(command, capture_output=True, check=False)
