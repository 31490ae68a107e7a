from __future__ import annotations

from dataclasses import replace

from necroscope.findings.unit_held_back import accidents_of, sentence, unit_held_back
from necroscope.model.finding import Severity
from necroscope.sources.held_back_units import HELD_BACK_UNITS, HeldBackUnit
from tests.segments import evidence, look, segment_of

BY_FILE = HeldBackUnit(
    name="ecs.service",
    enabled="enabled",
    wanted_by="multi-user.target",
    failed="node-setup.service",
    result="exit-code",
    exit_status=1,
    needs="",
    condition="ConditionPathExists=/etc/ecs/ecs.config",
    path="/etc/ecs/ecs.config",
    is_only_reason=True,
)
BY_NEED = replace(BY_FILE, name="docker.service", needs="data.mount", condition="", path="")


def test_all_are_told_with_what_holds_each_back() -> None:
    first, second = look(unit_held_back, segment_of({HELD_BACK_UNITS: [(), (BY_FILE, BY_NEED)]}))
    assert first.severity is Severity.WARNING and first.subject == "ecs.service"
    assert first.summary == (
        "ecs.service is enabled and does not run only because node-setup.service failed (exit 1): "
        "mend that, and it starts"
    )
    assert evidence(first) == {
        "enabled": "enabled, wanted by multi-user.target",
        "state": "not started in this boot",
        "condition that did not hold": "ConditionPathExists=/etc/ecs/ecs.config",
        "named by node-setup.service": "/etc/ecs/ecs.config",
        "node-setup.service": "failed (exit 1)",
    }
    assert evidence(second)["needs"] == "data.mount"
    assert "condition that did not hold" not in evidence(second)
    assert first.advice[0].command == "journalctl -n 50 -u node-setup.service"


def test_where_it_may_not_be_the_only_reason_nothing_is_promised() -> None:
    by_file, by_need = accidents_of([replace(one, is_only_reason=False) for one in (BY_FILE, BY_NEED)])
    assert sentence(by_file) == (
        "ecs.service is enabled and does not run, and a failed step names the file it waits for: "
        "node-setup.service failed (exit 1)"
    )
    assert "and a unit that it needs failed: node-setup.service" in sentence(by_need)
    assert not by_file.is_only_reason


def test_what_was_mended_is_not_told() -> None:
    assert look(unit_held_back, segment_of({HELD_BACK_UNITS: [(BY_FILE,), ()]})) == []


def test_how_it_failed_in_words() -> None:
    (other,) = accidents_of([replace(BY_NEED, exit_status=0)])
    assert other.because == "node-setup.service failed (another command than its main one)"
    timeout = replace(BY_NEED, failed="data.mount", result="timeout", exit_status=0)
    (accident,) = accidents_of([timeout])
    assert accident.because == "data.mount failed (timeout)" and accident.because in sentence(accident)
    (unknown,) = accidents_of([replace(timeout, result="")])
    assert unknown.because == "data.mount failed"
