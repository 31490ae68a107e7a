"""doctor on other kernels and cgroup layouts, in QEMU guests."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.machines.kernels import KernelError, kernel_of
from lab.machines.qemu import Cgroups, Guest, why_not
from tests.real.conftest import evidence, findings

pytestmark = [pytest.mark.servers, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

PROGRAM = Path(sys.executable).with_name("necroscope")
RECORD = Path(__file__).parents[1] / "hosts/record.py"
ZOMBIES = 300
CONFIG = f"[thresholds.zombie-memory-cgroups]\nwarning = {ZOMBIES - 50}\n"
ENA = (
    "ena 0000:00:05.0 eth9: TX q 5 is paused for too long (threshold 5000000). "
    "Time since last napi 5180000 usec. napi scheduled: 1"
)


@pytest.mark.parametrize(
    ("series", "cgroups"), [("5.10", "v1"), ("6.1", "v2"), ("6.1", "hybrid"), ("6.12", "v2")]
)
def test_zombies_a_stall_and_a_busy_core(series: str, cgroups: Cgroups) -> None:
    try:
        guest = Guest(kernel_of(series), cgroups=cgroups, hostname="node")
    except KernelError as error:
        pytest.skip(str(error))
    script = f"""
    '{sys.executable}' '{RECORD}' /tmp/tree --zombies {ZOMBIES}
    echo {shlex.quote(ENA)} >/dev/kmsg
    printf {shlex.quote(CONFIG)} >/tmp/config.toml
    taskset -c 1 dd if=/dev/zero of=/dev/null bs=16M status=none & hog=$!
    '{PROGRAM}' doctor -d 5s --json --trust-kmsg --config /tmp/config.toml; code=$?
    kill $hog; exit $code
    """
    done = guest.run(["sh", "-c", script], timeout_seconds=480)
    assert done.returncode == 1, done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    assert body["host"]["kernel"].startswith(series)
    (zombies,) = findings(body, "zombie-memory-cgroups")
    assert abs(evidence(zombies)["zombies"] - ZOMBIES) <= ZOMBIES * 0.1
    (reset,) = findings(body, "nic-reset")
    assert "eth9 (ena)" in reset["summary"]
    saturated = [f for f in findings(body, "core-saturated") if f["severity"] != "info"]
    assert 1 in {evidence(finding)["core"] for finding in saturated}, body["seen"]
    # These kernels have what the machine at hand may lack.
    absent = {row["source"] for row in body["not_checked"]}
    assert absent <= {"units", "held-back-units", "nic-counters", "pressure"}, body["not_checked"]
