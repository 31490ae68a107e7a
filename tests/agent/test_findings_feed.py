"""A state is told while it is one of now, and not a moment longer."""

from __future__ import annotations

import time
from typing import Any

import pytest

from necroscope.agent.findings_feed import AgentFindings
from necroscope.findings.node_state_json import state_document
from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding, NodeState


def answer(age_seconds: float = 5.0) -> dict[str, Any]:
    found = ActiveFinding("nic-reset", Severity.CRITICAL, "eth0", "3")
    examined_ns = time.time_ns() - int(age_seconds * 1e9)
    return {"state": state_document(NodeState(examined_ns, (found,), ("nic-reset",)))}


@pytest.fixture
def told() -> list[NodeState | None]:
    return []


@pytest.fixture
def findings(told: list[NodeState | None]) -> AgentFindings:
    return AgentFindings(told.append)


def test_a_new_state_is_told_once(findings: AgentFindings, told: list[NodeState | None]) -> None:
    findings.tick(None, 120)
    assert (findings.state, told) == (None, [])
    findings.tick(answer(), 120)
    findings.tick(None, 120)
    findings.tick({"sealed": ["one"], "cpu_seconds": 0.2}, 120)  # asked too soon after the other
    assert [state and state.findings[0].id for state in told] == ["nic-reset"]
    assert findings.state == told[0]


def test_one_that_is_too_old_is_none(findings: AgentFindings, told: list[NodeState | None]) -> None:
    """A recorder was killed, and what it left is sealed hours later."""
    findings.tick(answer(age_seconds=3600), 120)
    assert (findings.state, findings.error, told) == (None, "", [None])


def test_it_gets_old_when_nothing_more_is_sealed(
    findings: AgentFindings, told: list[NodeState | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    findings.tick(answer(), 120)
    began = time.monotonic()
    for seconds, is_known in ((600, True), (800, True), (860, False), (900, False)):
        monkeypatch.setattr(time, "monotonic", lambda at=seconds: began + at)
        findings.tick(None, 120)
        assert (findings.state is not None) == is_known, seconds
    assert len(told) == 2 and told[-1] is None


def test_that_nothing_was_ever_examined_is_told_once(
    findings: AgentFindings, told: list[NodeState | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.monotonic()
    for seconds, expected in ((0, []), (839, []), (840, [None]), (2000, [None])):
        monkeypatch.setattr(time, "monotonic", lambda at=seconds: began + at)
        findings.tick(None, 120)
        assert told == expected, seconds


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"state_error": "the disk: Input/output error"}, "the disk: Input/output error"),
        ({"state": {"examined_utc_ns": 5}}, "no state of a node: 'findings'"),
        ({"state": [1]}, "no state of a node: list indices must be integers or slices, not str"),
    ],
)
def test_a_failure_is_told_and_takes_the_state_away(
    findings: AgentFindings, told: list[NodeState | None], said: dict[str, Any], error: str
) -> None:
    findings.tick(answer(), 120)
    findings.tick(said, 120)
    assert (findings.state, findings.error, told[-1]) == (None, error, None)
    findings.tick(answer(), 120)
    assert findings.state and not findings.error
