from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.sources.host import Host
from necroscope.sources.zombie_parents import (
    KINDS,
    NOTHING,
    ZombieParent,
    read_zombie_parents,
    zombies_below,
)
from necroscope.sources.zombie_pins import PinnedMemory, read_zombie_pins
from tests.sources.test_zombie_pins import V1, V2, build, v1_stat, v2_stat

PAGE_CACHE, SHARED, _ = KINDS
PAGE = 4096
V1_MOUNT, V2_MOUNT = "sys/fs/cgroup/memory", "sys/fs/cgroup"


def parents(host: Host) -> dict[str, ZombieParent]:
    found = read_zombie_parents(host, read_zombie_pins(host).value)
    assert found.value is not None, found.reason
    return {parent.cgroup: parent for parent in found.value}


def test_v1_knows_parents_by_what_is_held_below_them(tmp_path: Path) -> None:
    host = build(
        tmp_path,
        V1,
        {
            f"{V1_MOUNT}/memory.stat": v1_stat((10, 1, 2), (10 + 5 + 30, 1 + 17, 2 + 4)),
            f"{V1_MOUNT}/pods/memory.stat": v1_stat((0, 0, 0), (30, 17, 4)),
            f"{V1_MOUNT}/pods/one/memory.stat": v1_stat((23, 10, 4), (23, 10, 4)),
        },
    )
    found = parents(host)
    assert found["/pods"].kinds == (SHARED,) and found["/pods"].is_sure(SHARED, PAGE)
    # The root has 9 MiB of page cache of its own beside the 5 that its removed children hold.
    assert found["/"].kinds == (PAGE_CACHE,) and not found["/"].is_sure(PAGE_CACHE, 1 << 30)
    assert found["/pods"].zombies is None
    assert found["/pods"].inode == (tmp_path / V1_MOUNT / "pods").stat().st_ino


def v2_tree(tmp_path: Path) -> Host:
    """The root has 1 zombie of its own, /pods 4 and /pods/burstable 7."""
    files = {f"{V2_MOUNT}/cgroup.controllers": "memory\n"}
    for path, dying in (("", 12), ("/pods", 11), ("/pods/burstable", 7), ("/quiet", 0)):
        files[f"{V2_MOUNT}{path}/cgroup.stat"] = f"nr_descendants 9\nnr_dying_descendants {dying}\n"
        files[f"{V2_MOUNT}{path}/cgroup.subtree_control"] = "memory\n"
        files[f"{V2_MOUNT}{path}/memory.stat"] = v2_stat(0, 0, 0, 0)
    return build(tmp_path, V2, files)


def test_v2_counts_the_zombies_of_each_parent(tmp_path: Path) -> None:
    found = parents(v2_tree(tmp_path))
    assert {path: parent.zombies for path, parent in found.items()} == {
        "/": 1,
        "/pods": 4,
        "/pods/burstable": 7,
    }
    # What holds them does not show, so it may be anything; the root may have memory of its own.
    assert found["/pods"].kinds == KINDS
    assert all(found["/pods"].is_sure(kind, PAGE) for kind in KINDS)
    assert not found["/"].is_sure(SHARED, 1 << 30)


@pytest.mark.parametrize(
    ("cgroup", "own", "held", "is_sure"),
    [
        ("/pods", 0, PAGE, True),
        ("/pods", 120 * PAGE, 120 * PAGE, False),  # it may be all its own
        ("/pods", 120 * PAGE, 249 * PAGE, True),  # more than it can have, with the error
        ("/pods", 129 * PAGE, 1 << 30, False),  # it has a good deal itself
        ("/", PAGE, 1 << 30, False),  # the processes of the root come and go
    ],
)
def test_v1_is_sure_only_of_what_cannot_be_the_parents_own(
    cgroup: str, own: int, held: int, is_sure: bool
) -> None:
    parent = ZombieParent(
        cgroup, 1, None, None, KINDS, PinnedMemory(0, own, 0, None, None), error_bytes=128 * PAGE
    )
    assert parent.is_sure(SHARED, held) is is_sure


def test_before_5_13_a_parent_that_reads_0_may_have_what_its_cores_keep() -> None:
    parent = ZombieParent("/pods", 1, None, None, KINDS, NOTHING, 128 * PAGE, 64 * PAGE)
    assert not parent.is_sure(SHARED, 64 * PAGE)
    assert parent.is_sure(SHARED, 65 * PAGE)


def test_v2_is_not_sure_of_a_unit_that_was_in_the_parent_before_it_made_children(tmp_path: Path) -> None:
    host = v2_tree(tmp_path)
    (tmp_path / V2_MOUNT / "pods").rename(tmp_path / V2_MOUNT / "agent.service")
    assert not parents(host)["/agent.service"].is_sure(SHARED, PAGE)
    assert parents(host)["/agent.service/burstable"].is_sure(SHARED, PAGE)


def test_v2_prefers_the_count_of_memory_cgroups_alone(tmp_path: Path) -> None:
    host = v2_tree(tmp_path)
    stat = tmp_path / V2_MOUNT / "pods/cgroup.stat"
    stat.write_text("nr_descendants 9\nnr_dying_descendants 11\nnr_dying_subsys_memory 8\n")
    assert zombies_below(host, f"/{V2_MOUNT}/pods") == 8
    assert zombies_below(host, f"/{V2_MOUNT}/not-there") == 0
