"""Every new state is passed on, and None while it cannot be known."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from necroscope.agent import findings_feed
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
    monkeypatch.setattr(findings_feed, "REBUILD_SECONDS", 0.2)
    monkeypatch.setattr(ActiveFindings, "rebuild", lambda *_: time.sleep(60))
    assert findings.rebuild(tmp_path / HOST, BOOT_ID, now_ns) == [
        "the child that read what was recorded was ended after 0.2 s"
    ]


def test_the_child_ends_with_the_recorder(tmp_path: Path) -> None:
    script = f"""
import os, time
from pathlib import Path
from necroscope.agent.findings_feed import AgentFindings
from necroscope.findings.active_findings import ActiveFindings

def rebuild(*_):
    Path({str(tmp_path / "child")!r}).write_text(str(os.getpid()))
    time.sleep(60)

ActiveFindings.rebuild = rebuild
AgentFindings({{}}, print).rebuild(Path("/"), "", 0)
"""
    with subprocess.Popen([sys.executable, "-c", script]) as recorder:
        wait_for(lambda: bool((tmp_path / "child").exists() and (tmp_path / "child").read_text()))
        child = int((tmp_path / "child").read_text())
        recorder.kill()
    wait_for(
        lambda: not Path(f"/proc/{child}/cmdline").exists() or not Path(f"/proc/{child}/cmdline").read_bytes()
    )


def wait_for(is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not is_done():
        assert time.monotonic() < end
        time.sleep(0.02)
