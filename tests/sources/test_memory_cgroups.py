from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import (
    MEMORY_CGROUPS,
    HierarchyCount,
    parse_cgroup_stat,
    parse_proc_cgroups,
)
from tests.sources.conftest import Content, Tree, write_tree

HEAD = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
PROC_CGROUPS = HEAD + "cpu\t2\t2\t1\ncpuacct\t2\t2\t1\nmemory\t4\t68680\t1\n"
MOUNTED = "39 35 0:34 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
V1: dict[str, Content] = {
    "/proc/1/mountinfo": MOUNTED,
    "/proc/cgroups": PROC_CGROUPS,
    "/proc/meminfo": "MemTotal: 1000 kB\nPercpu: 616 kB\n",
    "/sys/fs/cgroup/memory/system.slice/ssh.service": None,
    "/sys/fs/cgroup/memory/kubepods/burstable/pod1": None,
}
V2: dict[str, Content] = {
    "/proc/1/mountinfo": "35 28 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "/sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
    "/sys/fs/cgroup/cgroup.stat": "nr_descendants 5\nnr_dying_descendants 20\n",
}


def test_v1_counts_what_has_no_folder(tree: Tree) -> None:
    cgroups = MEMORY_CGROUPS.open(tree(V1))().value
    assert cgroups
    read_from = "/proc/cgroups, /sys/fs/cgroup/memory"
    assert cgroups.memory == HierarchyCount("memory (v1)", 1, 68680, 6, 68674, read_from)
    assert cgroups.percpu_bytes == 616 * 1024
    assert cgroups.others == ()


def test_v1_never_counts_less_than_nothing(tree: Tree) -> None:
    """Cgroups were made between the two looks."""
    cgroups = MEMORY_CGROUPS.open(tree({**V1, "/proc/cgroups": HEAD + "memory\t4\t3\t1\n"}))().value
    assert cgroups
    assert (cgroups.memory.tracked, cgroups.memory.in_use, cgroups.memory.dying) == (6, 6, 0)


def test_v1_without_the_memory_row(tree: Tree) -> None:
    """Linux 6.14 with CONFIG_MEMCG_V1=n."""
    reading = MEMORY_CGROUPS.open(tree({**V1, "/proc/cgroups": HEAD + "cpu\t2\t2\t1\n"}))()
    assert (reading.absence, reading.detail) == (Absence.NOT_SUPPORTED, "/proc/cgroups has no memory row")


def test_v2_before_6_12_counts_cgroups_of_any_kind(tree: Tree) -> None:
    cgroups = MEMORY_CGROUPS.open(tree(V2))().value
    assert cgroups
    assert cgroups.memory == HierarchyCount("unified (v2)", 2, 26, 6, 20, "/sys/fs/cgroup/cgroup.stat")
    assert cgroups.percpu_bytes is None


def test_v2_since_6_12_counts_those_of_memory(tree: Tree) -> None:
    stat = (
        "nr_descendants 335\nnr_subsys_cpu 336\nnr_subsys_memory 40\n"
        "nr_dying_descendants 90\nnr_dying_subsys_cpu 0\nnr_dying_subsys_memory 7\n"
    )
    cgroups = MEMORY_CGROUPS.open(tree({**V2, "/sys/fs/cgroup/cgroup.stat": stat}))().value
    assert cgroups
    assert (cgroups.memory.tracked, cgroups.memory.in_use, cgroups.memory.dying) == (47, 40, 7)


def test_hybrid_tells_of_the_other_hierarchy(tree: Tree) -> None:
    unified = "48 35 0:43 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    stat = "nr_descendants 183\nnr_dying_descendants 2\n"
    host = tree({**V1, "/proc/1/mountinfo": MOUNTED + unified, "/sys/fs/cgroup/unified/cgroup.stat": stat})
    cgroups = MEMORY_CGROUPS.open(host)().value
    assert cgroups
    assert cgroups.memory.version == 1
    assert [(other.hierarchy, other.in_use, other.dying) for other in cgroups.others] == [
        ("unified (v2)", 184, 2)
    ]


@pytest.mark.parametrize(
    "meminfo", ["", b"\xff\xfe\x00", "MemTotal: 1000 kB\nPercpu: 61", "MemTotal: 1 kB\n"]
)
def test_percpu_memory_that_is_not_known_is_not_zero(tree: Tree, meminfo: str | bytes) -> None:
    cgroups = MEMORY_CGROUPS.open(tree({**V1, "/proc/meminfo": meminfo}))().value
    assert cgroups
    assert cgroups.percpu_bytes is None


@pytest.mark.parametrize(
    "text", ["memory\t4\t1\t1\n", HEAD + "memory\t4\t1\n", HEAD + "memory\t4\tx\t1\n", "\n"]
)
def test_lines_of_proc_cgroups_that_no_kernel_writes(text: str) -> None:
    with pytest.raises(ValueError, match=r"head|columns|invalid"):
        parse_proc_cgroups(text)


def test_controllers_on_one_hierarchy_share_its_number() -> None:
    assert parse_proc_cgroups(PROC_CGROUPS) == {"cpu": 2, "cpuacct": 2, "memory": 68680}


def test_lines_of_cgroup_stat_that_no_kernel_writes() -> None:
    with pytest.raises(ValueError, match="values"):
        parse_cgroup_stat("nr_descendants\n")


@pytest.fixture
def locked() -> Iterator[Host]:
    """A tree of which another user cannot list one cgroup; root itself could."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        host = write_tree(root, V1)
        (root / "sys/fs/cgroup/memory/kubepods").chmod(0o000)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield host
        finally:
            os.seteuid(user)
            (root / "sys/fs/cgroup/memory/kubepods").chmod(0o755)


def test_cgroups_that_cannot_be_listed_are_not_zombies(locked: Host) -> None:
    reading = MEMORY_CGROUPS.open(locked)()
    assert reading.absence is Absence.NOT_PERMITTED
    assert "1 cgroups under /sys/fs/cgroup/memory cannot be listed" in reading.detail


def test_a_hierarchy_that_goes_away(tree: Tree, tmp_path: Path) -> None:
    read = MEMORY_CGROUPS.open(tree({**V1, "/sys/fs/cgroup/memory": None}))
    (tmp_path / "sys/fs/cgroup/memory").rename(tmp_path / "gone")
    reading = read()
    assert reading.absence is Absence.NOT_SUPPORTED
    assert "/sys/fs/cgroup/memory: No such file" in reading.detail
