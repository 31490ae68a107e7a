from __future__ import annotations

import pytest

from necroscope.sources.run_queues import RUN_QUEUES, RunQueue, parse_run_queues
from tests.sources.conftest import Tree

DOMAIN = "0 " * 36
V15 = f"""\
version 15
timestamp 4294893988
cpu0 0 0 0 0 0 0 3257360873 212231997 2052
domain0 3 {DOMAIN.strip()}
cpu1 0 0 0 0 0 0 3642327421 81671662 3316
domain0 3 {DOMAIN.strip()}
"""
V16 = V15.replace("version 15", "version 16")
# 17 (seen in Linux 6.17) names the domains and has more columns for them.
V17 = V15.replace("version 15", "version 17").replace("domain0 3", "domain0 MC 3 0 0 0 0 0 0 0 0")


@pytest.mark.parametrize("text", [V15, V16, V17], ids=["15", "16", "17"])
def test_the_cpu_lines_are_the_same_in_all_versions(text: str) -> None:
    assert parse_run_queues(text) == (
        RunQueue(0, running_ns=3257360873, waiting_ns=212231997),
        RunQueue(1, running_ns=3642327421, waiting_ns=81671662),
    )


@pytest.mark.parametrize("text", ["version 15\ntimestamp 1\n", "version 15\ncpu0 0 0 0\n", "\n"])
def test_lines_that_no_kernel_writes(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_run_queues(text)


def test_source(tree: Tree) -> None:
    assert RUN_QUEUES.open(tree({"/proc/schedstat": V15}))().value == parse_run_queues(V15)
