"""tracefs at its usual place, as on a node: systemd mounts it at boot, a machine without one may lack it.

    with tracefs_mounted():
        ...                     # the ledger of cgroups can be kept

Where it cannot be mounted (no root, no such file system), nothing happens: the program says what it lacks.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TRACEFS = Path("/sys/kernel/tracing")


@contextmanager
def tracefs_mounted() -> Iterator[None]:
    """Mount it unless it is there, and take that back in the end."""
    is_missing = os.geteuid() == 0 and not (TRACEFS / "instances").is_dir()
    is_ours = is_missing and _is_done("mount", "-n", "-t", "tracefs", "lab", str(TRACEFS))
    try:
        yield
    finally:
        if is_ours:  # lazily: a perf that is just ending may still have a file of it open
            _is_done("umount", "-n", "--lazy", str(TRACEFS))


def _is_done(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
