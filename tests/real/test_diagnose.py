"""The same symptom from six causes, each made for real, recorded, and told apart."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab import incidents
from lab.faults.zombie_walks import FUNCTIONS
from lab.incidents import INCIDENTS, Incident, Struck
from tests.real.recorders import ask, events_of, recorder, wait_until
from tests.real.recorders import why_not as why_no_recorder

REASON = incidents.why_not() or why_no_recorder()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
QUIET_SECONDS = 25
AFTERWARDS_SECONDS = 8


@dataclass(frozen=True, slots=True)
class Recorded:
    """An incident that is over, and what was recorded of it."""

    incident: Incident
    struck: Struck
    store: Path


def record(name: str, store: Path) -> Recorded:
    """Record quiet seconds, the strike, and some seconds more."""
    with INCIDENTS[name]() as incident:
        with recorder(store, "--segment", "10s", wrapper=incident.wrapper) as one:
            wait_until(lambda: one.is_recording(samples=True), 20, "a recorder that records")
            time.sleep(QUIET_SECONDS)
            struck = incident.strike()
            time.sleep(AFTERWARDS_SECONDS)
            code, body = one.end()
        assert code in (0, 1), body
        return Recorded(incident, struck, store)


def diagnose(recorded: Recorded) -> dict[str, Any]:
    """The diagnosis of the stall, of which there is one."""
    (reset,) = events_of(recorded.store, "nic-reset")
    assert reset.event.queue == recorded.incident.queue.queue
    body = ask("diagnose", "--store", str(recorded.store))
    diagnosis: dict[str, Any] = body["diagnosis"]
    assert diagnosis["symptom"].startswith("nic-reset-")
    return diagnosis


def words(link: dict[str, Any]) -> str:
    """All that a link says, with its evidence."""
    facts = [f"{fact['name']} {fact['value']} {fact['unit']}" for fact in link["evidence"]]
    return " ".join([link["cause"], link["effect"], *facts])


def test_the_chain_goes_from_the_leaking_unit_to_the_stalled_queue(tmp_path: Path) -> None:
    recorded = record("pinterest", tmp_path / "store")
    assert recorded.incident.loop and recorded.struck.walk
    diagnosis = diagnose(recorded)
    core, queue = recorded.incident.core, recorded.incident.queue

    assert diagnosis["conclusion"] == "starved-core"
    assert diagnosis["missing"] == []
    assert [link["id"] for link in diagnosis["chain"]] == [
        "unit-leaks-cgroups",
        "zombies-slow-the-kernel",
        "kernel-work-fills-core",
        "core-starves-nic",
    ]
    leak, walk, full, starved = diagnosis["chain"]
    assert recorded.incident.loop.unit in leak["cause"]
    assert recorded.struck.walk.comm in walk["effect"]
    assert any(function in walk["effect"] for function in FUNCTIONS)
    assert f"core {core}" in full["effect"]
    assert f"core {core}" in starved["effect"]
    assert f"{queue.device} queue {queue.queue}" in starved["effect"]
    assert queue.irq_name in words(starved)
    assert {link["strength"] for link in diagnosis["chain"]} <= {"strong", "fair"}
    leaked = {fact["name"]: fact["value"] for fact in leak["evidence"]}
    per_start = recorded.incident.loop.cgroups_per_start
    assert leaked["cgroups leaked per restart"] == pytest.approx(per_start, rel=0.25)
    assert "written by a program" in diagnosis["verdict"]

    culprit = diagnosis["culprit"]
    assert culprit["process"] == recorded.struck.walk.comm
    assert culprit["function"] in FUNCTIONS
    assert culprit["is_significant"]


@pytest.mark.parametrize(
    ("name", "conclusion"),
    [
        pytest.param("user", "user-space-load", marks=pytest.mark.servers),
        ("other-core", "other-core"),
        pytest.param("zombies", "zombies-without-cost", marks=pytest.mark.servers),
        pytest.param("crash-loop", "crash-loop-without-leak", marks=pytest.mark.servers),
        pytest.param("idle", "healthy-node", marks=pytest.mark.servers),
    ],
)
def test_the_same_symptom_with_another_cause_has_its_own_answer(
    name: str, conclusion: str, tmp_path: Path
) -> None:
    recorded = record(name, tmp_path / "store")
    diagnosis = diagnose(recorded)
    assert diagnosis["conclusion"] == conclusion, diagnosis["verdict"]
    assert diagnosis["chain"] == []  # nothing that was found leads to the stall
    assert f"core {recorded.incident.core}" in diagnosis["verdict"]
    if recorded.incident.loop:
        assert recorded.incident.loop.unit in diagnosis["verdict"]
    if name == "other-core":
        assert f"core {recorded.struck.busy_core}" in diagnosis["verdict"]
