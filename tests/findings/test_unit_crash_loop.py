from __future__ import annotations

from typing import Any

from necroscope.findings.unit_crash_loop import unit_crash_loop
from necroscope.sources.units import UNITS, Unit
from tests.segments import BEGIN_NS, evidence, look, segment_of


def unit(name: str, restarts: int | None, **changes: Any) -> Unit:
    fields: dict[str, Any] = {
        "description": "",
        "active_state": "active",
        "sub_state": "running",
        "result": "success",
        "restart_policy": "on-failure",
        "restart_delay_seconds": 10.0,
        "state_changed_ns": BEGIN_NS - 3600 * 10**9,
        "exit_status": 0,
        "enabled": "enabled",
        "preset": "enabled",
        "file": f"/lib/systemd/system/{name}",
    }
    return Unit(name=name, restarts=restarts, **(fields | changes))


def names(*moments: tuple[Unit, ...]) -> list[str]:
    return [finding.summary.split()[0] for finding in look(unit_crash_loop, segment_of({UNITS: moments}))]


def test_all_loops_are_reported_not_the_first() -> None:
    before = (unit("ecs.service", 40), unit("good.service", 0), unit("other.service", 7))
    after = (unit("ecs.service", 42), unit("good.service", 0), unit("other.service", 8))
    assert names(before, after) == ["ecs.service", "other.service"]


def test_evidence_leads_to_the_cause() -> None:
    segment = segment_of({UNITS: [(unit("ecs.service", 40),), (unit("ecs.service", 42, exit_status=3),)]})
    (finding,) = look(unit_crash_loop, segment)
    facts = evidence(finding)
    assert (facts["restarts"], facts["restarts while looking"], facts["restart rate"]) == (42, 2, 120.0)
    assert facts["enabled"] == "enabled (preset: enabled)"
    assert facts["exit status"] == 3
    assert "necroscope fix disable-unit ecs.service" in [step.command for step in finding.advice]


def test_a_slow_loop_is_seen_between_two_restarts() -> None:
    waiting = unit("ecs.service", 12, active_state="activating", sub_state="auto-restart")
    just_started = unit("slow.service", 12, state_changed_ns=BEGIN_NS - 20 * 10**9)
    assert names((waiting, just_started)) == ["ecs.service", "slow.service"]


def test_a_repaired_unit_is_worth_a_word_for_a_while_and_no_alarm() -> None:
    def look_at(seconds_up: float, delay: float) -> list[tuple[str, str]]:
        one = unit(
            "ecs.service",
            16,
            restart_delay_seconds=delay,
            state_changed_ns=BEGIN_NS + 10**9 - int(seconds_up * 10**9),
        )
        found = look(unit_crash_loop, segment_of({UNITS: [(one,), (one,)]}))
        return [(finding.severity.value, finding.summary.partition(", ")[2]) for finding in found]

    assert look_at(8, delay=0.3) == [("info", "and has been up for 8 s since")]
    assert look_at(3, delay=0.3)[0][0] == "warning"  # it may fail any moment
    assert look_at(25, delay=10)[0][0] == "warning"
    assert look_at(290, delay=10)[0][0] == "info"
    assert look_at(310, delay=10) == []


def test_a_loop_is_seen_though_its_count_was_set_back() -> None:
    moments = [(unit("ecs.service", restarts),) for restarts in (40, 50, 1)]
    (finding,) = look(unit_crash_loop, segment_of({UNITS: moments}))
    assert evidence(finding)["restart rate"] == 330.0
    assert finding.summary.startswith("ecs.service is crash-looping: 1 restarts, 11 of them")


def test_a_loop_that_systemd_gave_up() -> None:
    given_up = unit("ecs.service", 5, active_state="failed", sub_state="failed", result="start-limit-hit")
    without_counter = unit("old.service", None, active_state="failed", result="start-limit-hit")
    assert names((given_up, without_counter)) == ["ecs.service", "old.service"]


def test_what_is_over_or_happened_once_is_no_loop() -> None:
    long_ago = unit("stable.service", 9)
    once = unit("once.service", 1, state_changed_ns=BEGIN_NS)
    failed_once = unit("oneshot.service", 0, active_state="failed", sub_state="failed", result="exit-code")
    assert names((long_ago, once, failed_once)) == []


def test_a_failure_is_remembered_from_either_reading() -> None:
    failed = unit("agent.service", 40, restart_policy="always", result="exit-code", exit_status=3)
    running = unit("agent.service", 42, restart_policy="always")
    (finding,) = look(unit_crash_loop, segment_of({UNITS: [(failed,), (running,)]}))
    assert finding.summary.startswith("agent.service is crash-looping")
    assert evidence(finding)["exit status"] == 3


def test_a_unit_that_ends_well_is_not_called_a_crash() -> None:
    moments = [(unit("poller.service", restarts, restart_policy="always"),) for restarts in (40, 42)]
    (finding,) = look(unit_crash_loop, segment_of({UNITS: moments}))
    assert finding.summary.startswith("poller.service is restarted again and again: 42 restarts")
