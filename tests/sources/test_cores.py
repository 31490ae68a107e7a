from __future__ import annotations

import pytest

from necroscope.sources.cores import CORES, CoreTime, parse_cores
from tests.sources.conftest import Tree

# Debian 5.10, 2 cores; the intr line shortened.
STAT = """\
cpu  96 0 477 614 0 0 2 0 0 0
cpu0 63 0 239 284 0 0 1 0 0 0
cpu1 33 0 238 330 0 0 0 0 0 0
intr 9726 83 9 0 0
ctxt 10275
btime 1794758298
processes 175
procs_running 1
procs_blocked 0
softirq 4486 0 698 0 10 0 0 1 1852 0 1925
"""


def test_every_core_by_itself_and_not_their_sum() -> None:
    assert parse_cores(STAT) == (
        CoreTime(0, user=63, nice=0, system=239, idle=284, iowait=0, irq=0, softirq=1, steal=0),
        CoreTime(1, user=33, nice=0, system=238, idle=330, iowait=0, irq=0, softirq=0, steal=0),
    )


def test_an_offline_core_leaves_a_gap() -> None:
    cores = parse_cores(STAT.replace("cpu1 ", "cpu3 "))
    assert [time.core for time in cores] == [0, 3]


def test_96_cores() -> None:
    rows = "".join(f"cpu{core} {core} 0 1 2 3 4 5 6 0 0\n" for core in range(96))
    cores = parse_cores(f"cpu  0 0 0 0 0 0 0 0 0 0\n{rows}softirq 1 2\n")
    assert [time.user for time in cores] == list(range(96))


@pytest.mark.parametrize("lines", range(1, 10))
def test_a_file_cut_between_any_two_lines_is_broken(lines: int) -> None:
    text = "".join(STAT.splitlines(keepends=True)[:lines])
    with pytest.raises(ValueError, match="cut off"):
        parse_cores(text)


@pytest.mark.parametrize(
    "text", ["cpu0 1 2 3\nsoftirq 1\n", "cpu0 a b c d e f g h\nsoftirq 1\n", "\nsoftirq 1\n"]
)
def test_lines_that_no_kernel_writes(text: str) -> None:
    with pytest.raises(ValueError, match=r"fields|invalid|values"):
        parse_cores(text)


def test_source(tree: Tree) -> None:
    assert CORES.open(tree({"/proc/stat": STAT}))().value == parse_cores(STAT)
