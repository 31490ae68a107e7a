"""Every new state is passed on, and None while it cannot be known."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.agent.findings_feed import AgentFindings
from necroscope.findings.active_findings import ActiveFindings
from necroscope.model.node_state import NodeState
from necroscope.signals.thresholds import load_thresholds
from tests.findings.test_active_findings import moments


def test_each_state_is_passed_on_and_a_mistake_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[NodeState | None] = []
    findings = AgentFindings(load_thresholds(Path("/dev/null")), taken.append)
    read = iter(moments(0, 60, range(5, 10)))
    for moment, _ in zip(read, range(20), strict=False):
        findings.observe(moment, (), ())
    assert findings.state and [found.id for found in findings.state.findings] == ["core-saturated"]
    assert 3 <= len(taken) <= 4 and taken[-1] is findings.state
    with monkeypatch.context() as patch:
        patch.setattr(ActiveFindings, "feed", lambda *_: 1 / 0)
        findings.observe(next(read), (), ())
    assert taken[-1] is None
    assert findings.error == "ZeroDivisionError: division by zero"
    for moment in read:
        findings.observe(moment, (), ())
    assert findings.state and not findings.error
