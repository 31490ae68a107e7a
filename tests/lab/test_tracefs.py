from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.machines.tracefs import TRACEFS

ASK = """
from lab.machines.tracefs import TRACEFS, tracefs_mounted
is_there = lambda: (TRACEFS / "instances").is_dir()
before = is_there()
with tracefs_mounted():
    inside = is_there()
print(before, inside, is_there())
"""
ROOT = Path(__file__).parents[2]


def asked(*, first: str = "true") -> str:
    """What a process says that has mounts of its own."""
    command = f"{first} && exec '{sys.executable}' -c '{ASK}'"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout.strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
def test_what_is_missing_is_mounted_and_taken_back() -> None:
    assert asked(first=f"umount -n -l {TRACEFS}") == "False True False"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
def test_what_is_there_is_left() -> None:
    assert asked() == "True True True"  # the tests' own set-up mounted it
