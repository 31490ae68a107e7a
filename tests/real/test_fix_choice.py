"""What `fix` would treat on a real systemd, in a container: an orphaned agent, a crash loop, a real leak."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.faults import leaking_units
from lab.faults.leaking_units import leaking_unit
from lab.faults.orphaned_agents import AGENT, UNKNOWN, WELL, install
from lab.machines.nspawn import Container, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[2]
ASK = """
import argparse, json, sys
from dataclasses import asdict
from necroscope.cli.fix_choice import choose
from necroscope.errors import NecroscopeError
from necroscope.sources.host import Host
what, subject, seconds = sys.argv[1:]
words = argparse.Namespace(what=what, subject=subject, duration=float(seconds), config=None, store=None)
try:
    print(json.dumps(asdict(choose(words, Host()))))
except NecroscopeError as error:
    print(json.dumps({"what": error.what, "hint": error.hint}))
"""


def chosen(machine: Container, what: str = "", subject: str = "", seconds: float = 2) -> dict[str, Any]:
    done = machine.run([sys.executable, "-c", ASK, what, subject, str(seconds)])
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def remedies(choice: dict[str, Any]) -> list[str]:
    return [f"{one['remedy']} {one['subject']}".strip() for one in choice["treatments"]]


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    with Container(binds=(CHECKOUT,)) as container:
        install(container)
        yield container


def test_a_unit_that_nobody_needs_is_disabled_by_any_name_of_the_trouble(machine: Container) -> None:
    for words in (("unit-orphaned-agent",), ("unit-crash-loop", AGENT)):
        found = chosen(machine, *words)
        assert remedies(found) == [f"disable-unit {AGENT}"], found
        assert any("for want of" in reason for reason in found["reasons"])


def test_two_crash_loops_ask_which(machine: Container) -> None:
    refused = chosen(machine, "unit-crash-loop")
    assert refused["what"] == "unit-crash-loop was found 2 times: choose one"
    assert AGENT in refused["hint"] and UNKNOWN in refused["hint"]


def test_a_unit_that_is_well_is_disabled_only_by_name_and_judged_by_the_trouble(machine: Container) -> None:
    name = WELL[-1]
    found = chosen(machine, "disable-unit", name)
    assert remedies(found) == [f"disable-unit {name}"]
    assert "nothing that was found asks for it" in found["reasons"][0]
    assert found["goals"]


@pytest.mark.skipif(leaking_units.why_not() is not None, reason=str(leaking_units.why_not()))
def test_a_leak_is_stopped_before_its_zombies_are_purged() -> None:
    with leaking_unit(at_first=2_000, per_start=50, binds=(CHECKOUT,)) as leak:
        for what in ("zombie-memory-cgroups", leak.unit):
            found = chosen(leak.machine, what, seconds=6)
            treated = remedies(found)
            assert treated[0].endswith(f" {leak.unit}"), found
            assert treated[0].split()[0] in ("disable-unit", "limit-crash-loop")
            assert treated[1] == "purge-zombies"
            goals = [goal["quantity"] for goal in found["goals"]]
            assert {"zombie-growth", "zombies"} <= set(goals)
