"""`necroscope zombies` on other kernels and cgroup layouts, in QEMU guests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.machines.kernels import KernelError, kernel_of
from lab.machines.qemu import Cgroups, Guest, why_not

pytestmark = [pytest.mark.servers, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

PROGRAM = Path(sys.executable).with_name("necroscope")
ZOMBIES = 300
PAGE_BYTES = 4096
# As a container runtime does it: a parent that hands memory on, and processes in its children only.
LEAK = f"""
import os
from pathlib import Path
v1, v2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
root = v1 if v1.exists() else v2
parent = root / "pods"
parent.mkdir()
if root == v2:
    for one in (root, parent):
        (one / "cgroup.subtree_control").write_text("+memory")
for number in range({ZOMBIES}):
    cgroup = parent / str(number)
    cgroup.mkdir()
    if (child := os.fork()) == 0:
        (cgroup / "cgroup.procs").write_text("0")
        Path("/dev/shm", str(number)).write_bytes(bytes({PAGE_BYTES}))
        os._exit(0)
    os.waitpid(child, 0)
    cgroup.rmdir()
"""


@pytest.mark.parametrize(("series", "cgroups"), [("5.10", "v1"), ("6.1", "v2"), ("6.12", "v2")])
def test_a_leak_is_named_and_what_holds_it(series: str, cgroups: Cgroups) -> None:
    try:
        guest = Guest(kernel_of(series), cgroups=cgroups, hostname="node")
    except KernelError as error:
        pytest.skip(str(error))
    script = f"""
    mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
    '{PROGRAM}' zombies --watch -d 45s --list --by path --json --store /tmp/none >/tmp/out & look=$!
    while ! [ -s /tmp/out ]; do sleep 0.5; done  # the ledger has begun
    '{sys.executable}' -c '{LEAK}'
    wait $look; code=$?
    tail -1 /tmp/out; exit $code
    """
    done = guest.run(["sh", "-c", script], timeout_seconds=480)
    assert done.returncode in (0, 1), done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    assert body["host"]["kernel"].startswith(series)
    assert body["counts"]["dying"] == pytest.approx(ZOMBIES, abs=ZOMBIES * 0.1)
    share = body["ledger"]["shares"][0]
    assert (share["name"], share["made"], share["removed"]) == ("/pods/#", ZOMBIES, ZOMBIES)
    assert share["zombies"] == pytest.approx(ZOMBIES, abs=ZOMBIES * 0.1)
    assert len({row["id"] for row in body["zombies"]}) == share["zombies"]
    error_bytes, each = body["pins"]["error_bytes"], body["pins"]["error_bytes_each"]
    if each:  # before Linux 5.13 a single page is not seen, and it says so
        assert series == "5.10" and each >= PAGE_BYTES
        assert abs(body["pins"]["total"]["tmpfs_bytes"]) <= ZOMBIES * PAGE_BYTES + error_bytes
    else:
        (held,) = [row for row in body["pins"]["by_parent"] if row["cgroup"] == "/pods"]
        assert held["tmpfs_bytes"] == pytest.approx(ZOMBIES * PAGE_BYTES, abs=error_bytes)
        assert abs(held["page_cache_bytes"]) <= error_bytes
    # None of these kernels walks for its statistics.
    assert all(cost["level"] is None for cost in body["wall"]["costs"] if cost["id"] == "wall.read_seconds")
