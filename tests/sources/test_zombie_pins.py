from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from necroscope.sources.host import Host
from necroscope.sources.zombie_pins import PinnedMemory, ZombiePins, parse_memory_stat, read_zombie_pins

MIB = 1 << 20
V1 = "33 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
V2 = "33 24 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


def build(root: Path, mountinfo: str, files: Mapping[str, str]) -> Host:
    every = {"proc/1/mountinfo": mountinfo, "sys/devices/system/cpu/online": "0-1\n", **files}
    for name, text in every.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Host(root)


def v1_stat(own: tuple[int, int, int], total: tuple[int, int, int]) -> str:
    """cache (with shmem), shmem and rss in MiB: the cgroup's own, and with all below it."""
    names = ("cache", "shmem", "rss")
    rows = [f"{name} {value * MIB}" for name, value in zip(names, own, strict=True)]
    rows += [f"total_{name} {value * MIB}" for name, value in zip(names, total, strict=True)]
    return "\n".join(rows) + "\n"


def v2_stat(anon: int, file: int, shmem: int, slab: int) -> str:
    rows = {"anon": anon, "file": file, "shmem": shmem, "slab": slab}
    return "".join(f"{name} {value * MIB}\n" for name, value in rows.items())


def read(host: Host) -> ZombiePins:
    reading = read_zombie_pins(host)
    assert reading.value, reading.reason
    return reading.value


@pytest.fixture
def v1(tmp_path: Path) -> Host:
    """/ has 1 live child; removed ones below / hold 5 MiB of page cache, below /pods 7 MiB of tmpfs."""
    mount = "sys/fs/cgroup/memory"
    return build(
        tmp_path,
        V1,
        {
            f"{mount}/memory.stat": v1_stat((10, 1, 2), (10 + 5 + 30, 1 + 0 + 17, 2 + 0 + 4)),
            f"{mount}/pods/memory.stat": v1_stat((0, 0, 0), (30, 17, 4)),
            f"{mount}/pods/one/memory.stat": v1_stat((23, 10, 4), (23, 10, 4)),
        },
    )


def test_v1_tells_page_cache_from_tmpfs(v1: Host) -> None:
    pins = read(v1)
    assert pins.total == PinnedMemory(5 * MIB, 7 * MIB, 0, None, None)
    assert [(cgroup, held.page_cache_bytes, held.tmpfs_bytes) for cgroup, held in pins.by_parent] == [
        ("/pods", 0, 7 * MIB),
        ("/", 5 * MIB, 0),
    ]
    assert (pins.cgroups_read, pins.cgroups_in_use, pins.root_is_known) == (3, 3, True)
    assert (pins.error_bytes, pins.error_bytes_each) == (64 * 2 * 4096, 0)


def test_before_5_13_a_zombie_keeps_pages_to_itself(v1: Host) -> None:
    release = v1.root / "proc/sys/kernel/osrelease"
    release.parent.mkdir(parents=True)
    for text, each in (("5.10.0-8-amd64\n", 32 * 2 * 4096), ("5.13.0\n", 0), ("6.1.0\n", 0)):
        release.write_text(text)
        assert read(v1).error_bytes_each == each


def test_a_cgroup_that_is_removed_meanwhile_is_left_out(v1: Host) -> None:
    (v1.root / "sys/fs/cgroup/memory/pods/one/memory.stat").unlink()
    assert read(v1).total.page_cache_bytes >= 5 * MIB


def test_without_totals_nothing_is_told(tmp_path: Path) -> None:
    host = build(tmp_path, V1, {"sys/fs/cgroup/memory/memory.stat": "cache 1\nrss 2\n"})
    assert read_zombie_pins(host).value is None


def test_v2_tells_it_of_those_that_hand_memory_on(tmp_path: Path) -> None:
    mount = "sys/fs/cgroup"
    host = build(
        tmp_path,
        V2,
        {
            f"{mount}/cgroup.controllers": "cpu memory\n",
            f"{mount}/memory.stat": v2_stat(500, 500, 50, 50),  # with processes of its own
            f"{mount}/pods/cgroup.subtree_control": "memory pids\n",
            f"{mount}/pods/memory.stat": v2_stat(10, 40, 11, 3),
            f"{mount}/pods/one/memory.stat": v2_stat(10, 20, 1, 1),
            f"{mount}/pods/one/cgroup.subtree_control": "\n",
        },
    )
    pins = read(host)
    assert pins.total == PinnedMemory(10 * MIB, 10 * MIB, 0, None, 2 * MIB)
    assert [cgroup for cgroup, _ in pins.by_parent] == ["/pods"]
    assert not pins.root_is_known


def test_what_is_less_than_the_error_is_not_said_of_a_parent(v1: Host) -> None:
    stat = v1_stat((23, 10, 4), (23, 10, 4))
    for name in ("pods", "pods/one"):
        (v1.root / "sys/fs/cgroup/memory" / name / "memory.stat").write_text(stat)
    pods = v1.root / "sys/fs/cgroup/memory/pods/memory.stat"
    pods.write_text(
        v1_stat((0, 0, 0), (23, 10, 4)).replace(f"total_cache {23 * MIB}", f"total_cache {23 * MIB + 4096}")
    )
    assert "/pods" not in [cgroup for cgroup, _ in read(v1).by_parent]


def test_damaged_statistics_are_not_understood() -> None:
    with pytest.raises(ValueError, match="middle of a line"):
        parse_memory_stat("cache 10\nrss 2")
