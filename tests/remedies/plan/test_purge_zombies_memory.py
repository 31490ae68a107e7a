from __future__ import annotations

from pathlib import Path

from necroscope.remedies.plan.purge_zombies import has_swap, slab_holds_zombies, unwritten_bytes
from necroscope.sources.host import Host
from tests.sources.test_zombie_pins import V1, V2, build

V1_SLAB = "sys/fs/cgroup/memory/pods/memory.kmem.slabinfo"
V2_STAT = "sys/fs/cgroup/pods/memory.stat"
CONTROLLERS = {"sys/fs/cgroup/cgroup.controllers": "memory\n"}


def test_v1_that_lists_slab_of_a_cgroup_leaves_it_there(tmp_path: Path) -> None:
    assert slab_holds_zombies(build(tmp_path / "5.4", V1, {V1_SLAB: "slabinfo - version: 2.1\n"}))
    assert not slab_holds_zombies(build(tmp_path / "5.10", V1, {V1_SLAB: ""}))
    assert not slab_holds_zombies(build(tmp_path / "6.18", V1, {"sys/fs/cgroup/memory/pods/x": ""}))


def test_v2_that_counts_percpu_memory_hands_slab_on(tmp_path: Path) -> None:
    assert slab_holds_zombies(build(tmp_path / "5.4", V2, {**CONTROLLERS, V2_STAT: "anon 1\nslab 2\n"}))
    assert not slab_holds_zombies(build(tmp_path / "6.1", V2, {**CONTROLLERS, V2_STAT: "anon 1\npercpu 2\n"}))


def test_what_is_not_written_yet(tmp_path: Path) -> None:
    host = build(tmp_path, V1, {"proc/meminfo": "Dirty:   10 kB\nWriteback:  2 kB\nWritebackTmp: 7 kB\n"})
    assert unwritten_bytes(host) == 12 * 1024
    assert unwritten_bytes(Host(tmp_path / "none")) is None


def test_swap(tmp_path: Path) -> None:
    head = "Filename\tType\tSize\tUsed\tPriority\n"
    assert not has_swap(build(tmp_path / "without", V1, {"proc/swaps": head}))
    assert has_swap(build(tmp_path / "with", V1, {"proc/swaps": f"{head}/swap file 1 0 -2\n"}))
