"""A unit that leaks page cache is a whole incident: the program sees it from inside, and it can be purged."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.faults.crash_loops import KEPT_BY_CACHES, leaked
from lab.faults.leaking_units import LeakingUnit, leaking_unit, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("necroscope")
AT_FIRST, PER_START = 3_000, 40


@pytest.fixture(scope="module")
def leak() -> Iterator[LeakingUnit]:
    before = leaked()
    with leaking_unit(AT_FIRST, PER_START, binds=(CHECKOUT,)) as unit:
        assert leaked() >= before + AT_FIRST - KEPT_BY_CACHES
        yield unit
    assert leaked() <= before + KEPT_BY_CACHES
    assert not unit.cgroup.parent.exists()


def ask(leak: LeakingUnit, *words: str) -> dict[str, Any]:
    done = leak.machine.run([str(PROGRAM), *words, "--json"], timeout_seconds=120)
    assert done.stdout, done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    return body


def eventually(condition: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_the_program_counts_them_from_inside_and_names_who_leaks(leak: LeakingUnit) -> None:
    body = ask(leak, "zombies", "-d", "5s")
    assert body["counts"]["dying"] >= AT_FIRST - KEPT_BY_CACHES
    assert body["ledger"]["shares"][0]["name"] == leak.unit
    held = {row["cgroup"]: row["page_cache_bytes"] for row in body["pins"]["by_parent"]}
    assert held[f"/{leak.machine.name}/payload/ecs"] >= (AT_FIRST - KEPT_BY_CACHES) * 4096


def test_doctor_finds_the_whole_incident(leak: LeakingUnit) -> None:
    # What was removed counts as a zombie only after some seconds.
    body = ask(leak, "doctor", "-d", "6s")
    found = {(finding["id"], finding["subject"]) for finding in body["findings"]}
    assert ("unit-crash-loop", leak.unit) in found
    assert ("memory-cgroup-leak", leak.unit) in found
    assert "zombie-memory-cgroups" in {id for id, _ in found}


def test_its_parent_can_be_emptied_from_inside(leak: LeakingUnit) -> None:
    stopped = leak.machine.run(["systemctl", "stop", leak.unit])
    assert stopped.returncode == 0, stopped.stderr
    before = leaked()
    emptied = leak.machine.run(["sh", "-c", f"echo 0 >{leak.cgroup}/memory.force_empty"])
    assert emptied.returncode == 0, emptied.stderr
    assert eventually(lambda: leaked() <= before - AT_FIRST + KEPT_BY_CACHES)
