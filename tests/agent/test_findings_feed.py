"""Every new state is passed on, and None while it cannot be known."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from necroscope.agent.findings_feed import AgentFindings
from necroscope.findings.active_findings import ActiveFindings
from necroscope.model.node_state import NodeState
from necroscope.signals.thresholds import load_thresholds
from tests.findings.test_active_findings import moments
from tests.segments import BEGIN_NS
from tests.stored import BOOT_ID, HOST, SECOND_NS, sealed_segment


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


def test_what_was_recorded_before_is_read_by_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed_segment(tmp_path, moments(0, 120, range(110, 118)))
    taken: list[NodeState | None] = []
    findings = AgentFindings(load_thresholds(Path("/dev/null")), taken.append)
    now_ns = BEGIN_NS + 121 * SECOND_NS
    assert findings.rebuild(tmp_path / HOST, BOOT_ID, now_ns) == []
    findings.observe(next(iter(moments(121, 123))), (), ())
    assert findings.state and [found.id for found in findings.state.findings] == ["core-saturated"]
    monkeypatch.setattr(ActiveFindings, "rebuild", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    assert findings.rebuild(tmp_path / HOST, BOOT_ID, now_ns) == [
        "the child that read what was recorded has died"
    ]
    assert findings.state
