"""The program for node-problem-detector on kernels with cgroup v2, in QEMU guests, with real zombies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lab.machines.kernels import KernelError, kernel_of
from lab.machines.qemu import Guest, why_not

pytestmark = [pytest.mark.servers, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "deploy/rules/npd/check-memory-cgroups.sh"
RECORD = ROOT / "tests/hosts/record.py"
ZOMBIES = 200


@pytest.mark.parametrize("series", ["6.1", "6.12"])  # without and with a count of memory's own
def test_real_zombies_of_cgroup_v2_are_counted(series: str) -> None:
    try:
        guest = Guest(kernel_of(series), cgroups="v2")
    except KernelError as error:
        pytest.skip(str(error))
    script = f"""
    sh '{PROGRAM}' 100; echo $?
    '{sys.executable}' '{RECORD}' /tmp/tree --zombies {ZOMBIES} >/dev/null
    sh '{PROGRAM}' 100; echo $?
    """
    done = guest.run(["sh", "-c", script], timeout_seconds=300)
    before, first, after, second = done.stdout.splitlines()[-4:]
    assert (first, second) == ("0", "1"), done.stdout + done.stderr
    assert abs(int(after.split()[0]) - int(before.split()[0]) - ZOMBIES) < 20
