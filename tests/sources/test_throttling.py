from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.throttling import THROTTLING, CgroupThrottling, parse_cpu_stat
from tests.sources.conftest import Content, Deny, Tree

V1_STAT = "nr_periods 1200\nnr_throttled 310\nthrottled_time 48210933000\n"
V2_STAT = (
    "usage_usec 13321\nuser_usec 8880\nsystem_usec 4440\nnr_periods 1200\nnr_throttled 310\n"
    "throttled_usec 48210933\nnr_bursts 0\nburst_usec 0\n"
)
MOUNT = "/sys/fs/cgroup"
POD = "kubepods.slice/pod-1.slice"
V2: dict[str, Content] = {
    "/proc/1/mountinfo": f"35 28 0:30 / {MOUNT} rw - cgroup2 cgroup2 rw\n",
    f"{MOUNT}/cgroup.controllers": "cpu memory\n",
    f"{MOUNT}/cpu.stat": "usage_usec 1\n",
    f"{MOUNT}/{POD}/cpu.max": "50000 100000\n",
    f"{MOUNT}/{POD}/cpu.stat": V2_STAT,
    f"{MOUNT}/free.slice/cpu.max": "max 100000\n",
    f"{MOUNT}/free.slice/cpu.stat": V2_STAT,
    f"{MOUNT}/without-the-controller.slice/cpu.stat": "usage_usec 1\n",
}
V1: dict[str, Content] = {
    "/proc/1/mountinfo": f"37 35 0:32 / {MOUNT}/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
    f"{MOUNT}/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
    f"{MOUNT}/cpu,cpuacct/{POD}/cpu.cfs_quota_us": "50000\n",
    f"{MOUNT}/cpu,cpuacct/{POD}/cpu.stat": V1_STAT,
    f"{MOUNT}/cpu,cpuacct/free/cpu.cfs_quota_us": "-1\n",
    f"{MOUNT}/cpu,cpuacct/free/cpu.stat": V1_STAT,
}
EXPECTED = CgroupThrottling(f"/{POD}", periods=1200, throttled_periods=310, throttled_seconds=48.210933)


@pytest.mark.parametrize("files", [V1, V2], ids=["v1", "v2"])
def test_only_cgroups_with_a_quota(tree: Tree, files: dict[str, Content]) -> None:
    assert THROTTLING.open(tree(files))().value == (EXPECTED,)


@pytest.mark.parametrize("stat", [V1_STAT, V2_STAT], ids=["v1", "v2"])
def test_times_of_both_versions_are_seconds(stat: str) -> None:
    assert parse_cpu_stat(f"/{POD}", stat) == EXPECTED


def test_cut_between_lines() -> None:
    with pytest.raises(KeyError):
        parse_cpu_stat("/", V2_STAT[: V2_STAT.index("throttled_usec")])


@pytest.mark.parametrize("file", ["cpu.max", "cpu.stat"])
def test_a_cgroup_removed_since_the_listing_is_left_out(tree: Tree, tmp_path: Path, file: str) -> None:
    host = tree(V2)
    (tmp_path / f"sys/fs/cgroup/{POD}/{file}").unlink()
    assert THROTTLING.open(host)().value == ()


@pytest.mark.parametrize("file", ["cpu.max", "cpu.stat"])
def test_a_cgroup_that_is_refused_is_not_left_out(tree: Tree, deny: Deny, file: str) -> None:
    host = tree(V2)
    deny(f"{POD}/{file}")
    reading = THROTTLING.open(host)()
    assert reading.absence is Absence.NOT_PERMITTED
    assert f"{MOUNT}/{POD}/{file}" in reading.detail


def test_a_hierarchy_that_goes_away(tree: Tree, tmp_path: Path) -> None:
    read = THROTTLING.open(tree(V1))
    (tmp_path / "sys/fs/cgroup/cpu,cpuacct").rename(tmp_path / "gone")
    reading = read()
    assert reading.absence is Absence.NOT_SUPPORTED
    assert f"{MOUNT}/cpu,cpuacct" in reading.detail
