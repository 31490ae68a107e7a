from __future__ import annotations

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.reclaim import RECLAIM, Reclaim, parse_meminfo, parse_vmstat
from tests.sources.conftest import Tree

MEMINFO = """\
MemTotal:        1005043712 kB
MemFree:          900000 kB
MemAvailable:     856316 kB
Percpu:              616 kB
HugePages_Total:       3
"""
# Linux 4.4: scans per zone, one counter for stalls, no oom_kill.
V4_4 = """\
nr_free_pages 240000
pgsteal_kswapd_dma 1
pgsteal_kswapd_dma32 2
pgsteal_kswapd_normal 4
pgsteal_kswapd_movable 0
pgsteal_direct_dma 0
pgsteal_direct_normal 8
pgscan_kswapd_dma 10
pgscan_kswapd_normal 20
pgscan_direct_normal 40
pgscan_direct_throttle 999
allocstall 7
"""
# Linux 6.1: the other way round.
V6_1 = """\
nr_free_pages 231278
allocstall_dma 0
allocstall_dma32 1
allocstall_normal 2
allocstall_movable 4
allocstall_device 0
pgsteal_kswapd 7
pgsteal_direct 8
pgscan_kswapd 30
pgscan_direct 40
pgscan_direct_throttle 999
pgscan_khugepaged 999
oom_kill 5
"""


@pytest.mark.parametrize(("vmstat", "oom_kills"), [(V4_4, None), (V6_1, 5)], ids=["4.4", "6.1"])
def test_counters_of_old_and_new_kernels(tree: Tree, vmstat: str, oom_kills: int | None) -> None:
    assert RECLAIM.open(tree({"/proc/vmstat": vmstat, "/proc/meminfo": MEMINFO}))().value == Reclaim(
        scanned_by_kswapd=30,
        scanned_directly=40,
        stolen_by_kswapd=7,
        stolen_directly=8,
        allocation_stalls=7,
        oom_kills=oom_kills,
        available_bytes=856316 * 1024,
        total_bytes=1005043712 * 1024,
    )


@pytest.mark.parametrize(
    "counter", ["pgsteal_kswapd", "pgsteal_direct", "pgscan_kswapd", "pgscan_direct", "allocstall"]
)
def test_a_counter_that_is_missing_is_not_zero(tree: Tree, counter: str) -> None:
    vmstat = "".join(line for line in V6_1.splitlines(keepends=True) if not line.startswith(counter))
    reading = RECLAIM.open(tree({"/proc/vmstat": vmstat, "/proc/meminfo": MEMINFO}))()
    assert (reading.absence, reading.detail) == (Absence.BROKEN, f"/proc/vmstat: no '{counter}'")


@pytest.mark.parametrize("field", ["MemAvailable", "MemTotal"])
def test_a_field_that_is_missing_is_said_of_the_right_file(tree: Tree, field: str) -> None:
    meminfo = "".join(line for line in MEMINFO.splitlines(keepends=True) if not line.startswith(field))
    reading = RECLAIM.open(tree({"/proc/vmstat": V6_1, "/proc/meminfo": meminfo}))()
    assert (reading.absence, reading.detail) == (Absence.BROKEN, f"/proc/meminfo: no '{field}'")


def test_units() -> None:
    assert parse_meminfo(MEMINFO)["HugePages_Total"] == 3
    assert parse_meminfo(MEMINFO)["Percpu"] == 616 * 1024


def test_lines_that_no_kernel_writes() -> None:
    for parse, text in (
        (parse_vmstat, "oom_kill\n"),
        (parse_vmstat, "oom_kill 1 2\n"),
        (parse_meminfo, "MemTotal:\n"),
    ):
        with pytest.raises(ValueError, match="values"):
            parse(text)
