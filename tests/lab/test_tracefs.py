from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.machines.tracefs import TRACEFS

# With a lock of its own: other tests hold the machine's.
ASK = """
import sys
from pathlib import Path
from lab.machines import tracefs
tracefs.LOCK = Path(sys.argv[1])
def is_there():
    return (tracefs.TRACEFS / "instances").is_dir()
before = is_there()
with tracefs.tracefs_mounted():
    inside = is_there()
    if sys.argv[2:]:
        with tracefs.tracefs_mounted():
            pass
        inside = is_there()
print(before, inside, is_there())
"""
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")


def ask(lock: Path, *words: str, first: str) -> str:
    """Return what a process with mounts of its own sees before, inside and after."""
    script = [sys.executable, "-c", ASK, str(lock), *words]
    command = ["unshare", "--mount", "sh", "-c", f'{first} && exec "$@"', "sh", *script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip()


def test_mounts_what_is_missing_and_unmounts_it(tmp_path: Path) -> None:
    assert ask(tmp_path / "lock", first=f"umount -n -l {TRACEFS}") == "False True False"


def test_the_last_user_unmounts(tmp_path: Path) -> None:
    assert ask(tmp_path / "lock", "twice", first=f"umount -n -l {TRACEFS}") == "False True False"


def test_leaves_what_somebody_else_mounted(tmp_path: Path) -> None:
    first = f"umount -n -l {TRACEFS}; mount -n -t tracefs nodev {TRACEFS}"
    assert ask(tmp_path / "lock", first=first) == "True True True"
