"""purge-zombies on cgroup v2 and on older kernels, in QEMU guests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.machines.kernels import KernelError, kernel_of
from lab.machines.qemu import Cgroups, Guest, why_not

pytestmark = [pytest.mark.servers, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

ZOMBIES = 300
# Half of them read a file of the shared disk each, half write one of tmpfs; then plan, purge, and tell.
PROGRAM = f"""
import json, os, time
from itertools import islice
from pathlib import Path
v1, v2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
root = v1 if v1.exists() else v2
modules = Path(os.__file__).parent.rglob("*.py")
files = list(islice((path for path in modules if path.stat().st_size > 4096), {ZOMBIES}))
for kind in ("read", "tmpfs"):
    parent = root / kind
    parent.mkdir()
    if root == v2:
        for one in (root, parent):
            (one / "cgroup.subtree_control").write_text("+memory")
    for number in range({ZOMBIES}):
        cgroup = parent / str(number)
        cgroup.mkdir()
        if (child := os.fork()) == 0:
            (cgroup / "cgroup.procs").write_text("0")
            if kind == "read":
                files[number].read_bytes()
            else:
                Path("/dev/shm", f"held-{{number}}").write_bytes(bytes(4096))
            os._exit(0)
        os.waitpid(child, 0)
        cgroup.rmdir()
time.sleep(4)

from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.plan.purge_zombies import plan_purge_zombies
from necroscope.remedies.actions.counting import count_zombies
from necroscope.sources.host import Host
host = Host()
before = count_zombies(host)
part = plan_purge_zombies(host, "")
again = plan_purge_zombies(host, part.subject)
done = [(s.action, s.target, s.value, ALL_ACTIONS[s.action].do(host, s), ALL_ACTIONS[s.action].check(host, s))
        for s in part.steps]
print(json.dumps({{
    "before": before, "after": count_zombies(host), "steps": done,
    "seen": part.seen, "warnings": part.warnings,
    "by_hand": [[advice.why, *advice.commands] for advice in part.by_hand],
    "same": (part.steps, part.assumptions) == (again.steps, again.assumptions),
    "names": os.path.exists("/proc/kpagecgroup"),
}}))
"""


def purge(series: str, cgroups: Cgroups) -> dict[str, Any]:
    try:
        guest = Guest(kernel_of(series), cgroups=cgroups, hostname="node")
    except KernelError as error:
        pytest.skip(str(error))
    done = guest.run([sys.executable, "-c", PROGRAM], timeout_seconds=480)
    assert done.returncode == 0, done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    assert body["before"] == pytest.approx(2 * ZOMBIES, rel=0.2)
    assert body["same"], "a plan is what it was"
    assert not [amiss for *_, amiss in body["steps"] if amiss]
    return body


def names_the_tmpfs_files(body: dict[str, Any]) -> bool:
    return any("rm -- /dev/shm/held-" in line for lines in body["by_hand"] for line in lines)


@pytest.mark.parametrize("series", ["6.1", "6.12"])
def test_v2_reclaims_page_cache_of_the_parent_and_names_tmpfs(series: str) -> None:
    body = purge(series, "v2")
    actions = {Path(target).name: action for action, target, *_ in body["steps"]}
    assert actions["read"] == "reclaim", body
    assert body["after"] == pytest.approx(ZOMBIES, abs=ZOMBIES * 0.2), body
    assert names_the_tmpfs_files(body) or not body["names"], body
    assert body["names"] or any("not known by name" in line for line in body["warnings"])


def test_v2_without_memory_reclaim_drops_the_caches() -> None:
    body = purge("5.10", "v2")
    assert [action for action, *_ in body["steps"]] == ["drop-caches"], body
    assert body["after"] == pytest.approx(ZOMBIES, abs=ZOMBIES * 0.2), body
    assert names_the_tmpfs_files(body) or not body["names"], body


def test_v1_before_5_13_where_single_pages_do_not_show() -> None:
    body = purge("5.10", "v1")
    assert body["steps"][-1][0] == "drop-caches"
    assert body["steps"][-1][2] == "1", "since 5.9 slab holds no cgroup"
    assert body["after"] == pytest.approx(ZOMBIES, abs=ZOMBIES * 0.2), body
