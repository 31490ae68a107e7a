"""Words for how a unit fares, through all phases that systemd shows of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from necroscope.inventory.sections.bootstrap import outcome
from necroscope.inventory.sections.unit_runs import Demand, read_demand, runs
from necroscope.inventory.sections.unit_times import UnitTimes
from necroscope.sources.systemd.unit_details import UnitDetail
from necroscope.sources.systemd.unit_files import UnitFile

DETAIL = UnitDetail(
    *("x.service", "", "loaded", "inactive", "dead", "simple", "success"),
    *(0, 0, None, "", None, None, None),
    *((), (), (), (), (), (), (), ()),
    *("", "", ()),
)
BEGUN, NEVER = UnitTimes(True, 0.0), UnitTimes(False, 0.0)
LONG_AGO = UnitTimes(True, 5000.0)


def detail(state: str, sub: str, **more: object) -> UnitDetail:
    return replace(DETAIL, active_state=state, sub_state=sub, **more)  # type: ignore[arg-type]


def unit(name: str = "x.service", state: str = "enabled", **more: object) -> UnitFile:
    plain = UnitFile(name, f"/etc/systemd/system/{name}", state, "", "", (), (), (), (), {})
    links = ("/etc/systemd/system/multi-user.target.wants/x",) if state == "enabled" else ()
    wanted_by = ("multi-user.target",) if state == "enabled" else ()
    return replace(plain, **{"enabled_by": links, "wanted_by": wanted_by, **more})  # type: ignore[arg-type]


ONESHOT = {"Service.Type": ("oneshot",)}
# What systemd shows of a job that fails, one that succeeds, and one that is in a loop.
RUN = detail("activating", "start", type="oneshot")
END = detail("inactive", "dead", type="oneshot")
FAILURE = detail("failed", "failed", type="oneshot", result="exit-code", exit_status=1)
STOP = detail("deactivating", "final-sigterm", type="oneshot", result="exit-code", exit_status=1)
JOB = (RUN, END, FAILURE, STOP)
LOOP = (
    detail("activating", "auto-restart", result="exit-code", exit_status=1, restarts=0),
    detail("active", "running", restarts=1),
    detail("deactivating", "stop-sigterm", restarts=1),
    detail("activating", "auto-restart", result="exit-code", exit_status=1, restarts=1),
    detail("activating", "start", restarts=2),
)


def words(
    unit: UnitFile, demand: Demand, phases: tuple[UnitDetail, ...], times: UnitTimes = BEGUN
) -> set[str]:
    return {runs(unit, phase, times, demand, "") for phase in phases}


def outcomes(demand: Demand, phases: tuple[UnitDetail, ...]) -> set[str]:
    return {outcome(phase, BEGUN, demand, "") for phase in phases}


def test_what_a_trigger_starts_has_one_word() -> None:
    job = unit(state="static", settings=ONESHOT)
    assert words(job, Demand.ONLY, JOB) == {"on demand"}
    assert runs(job, None, None, Demand.ONLY, "") == "on demand"  # systemd has forgotten it
    retries = tuple(replace(phase, restarts=1) for phase in (*JOB, *LOOP))
    assert words(job, Demand.ONLY, retries) == {"on demand"}
    many = tuple(replace(phase, restarts=12) for phase in LOOP)
    assert words(job, Demand.ONLY, many) == {"crash-looping"}


def test_a_step_that_a_timer_repeats_has_one_word() -> None:
    step = unit(settings=ONESHOT)
    assert words(step, Demand.ALSO, JOB) == {"on demand"}
    assert outcomes(Demand.ALSO, JOB) == {"repeated"}
    stays = detail("active", "exited", type="oneshot")  # the timer does not start it again
    assert words(step, Demand.ALSO, (stays,)) == {"exited"}
    assert outcomes(Demand.ALSO, (stays,)) == {"succeeded"}


def test_a_loop_has_one_word_from_its_first_restart_on() -> None:
    assert words(unit(), Demand.NONE, LOOP) == {"crash-looping"}
    steps = tuple(replace(phase, type="oneshot") for phase in LOOP if phase.active_state != "active")
    assert outcomes(Demand.NONE, steps) == {"failed (again and again)"}


def test_a_loop_that_has_ended_is_none() -> None:
    held = (detail("active", "running", restarts=9), detail("reloading", "reload", restarts=9))
    assert words(unit(), Demand.NONE, held, LONG_AGO) == {"running"}
    assert words(unit(), Demand.NONE, (detail("failed", "failed", restarts=5),)) == {"failed"}
    assert words(unit(), Demand.NONE, (detail("inactive", "dead", restarts=5),)) == {"stopped"}
    done = (replace(END, restarts=2), detail("active", "exited", type="oneshot", restarts=2))
    assert words(unit(), Demand.NONE, done) == {"exited"}
    assert outcomes(Demand.NONE, done) == {"succeeded"}


def test_who_logs_out_of_a_console_makes_no_loop() -> None:
    getty = unit(settings={"Service.TTYPath": ("/dev/tty1",)})
    log_out = (detail("active", "running", restarts=3), detail("activating", "auto-restart", restarts=3))
    assert words(getty, Demand.NONE, log_out) == {"running"}
    assert words(getty, Demand.NONE, (detail("activating", "auto-restart", restarts=20),)) == {
        "crash-looping"
    }


@pytest.mark.parametrize(
    ("seen", "times", "word", "step"),
    [
        (RUN, BEGUN, "running", "running"),
        (END, BEGUN, "exited", "succeeded"),
        (END, NEVER, "skipped (ConditionX=y)", "not run (ConditionX=y)"),
        (FAILURE, BEGUN, "failed", "failed (exit 1)"),
        (None, None, "skipped (ConditionX=y)", "not run (ConditionX=y)"),
    ],
)
def test_a_step_that_nothing_repeats(seen: UnitDetail, times: UnitTimes, word: str, step: str) -> None:
    assert runs(unit(settings=ONESHOT), seen, times, Demand.NONE, "ConditionX=y") == word
    assert outcome(seen, times, Demand.NONE, "ConditionX=y") == step


@pytest.mark.parametrize("sub", ["listening", "running", "waiting", "elapsed"])
def test_what_waits(sub: str) -> None:
    for name in ("x.socket", "x.timer", "x.path", "x.automount"):
        assert runs(unit(name), detail("active", sub), None, Demand.NONE, "") == "waiting"


@pytest.mark.parametrize(
    ("one", "demand"),
    [
        (unit(state="static", wanted_by=("x.timer",)), Demand.ONLY),
        (unit(state="disabled", wanted_by=("x.path",)), Demand.ONLY),
        (unit(state="static", wanted_by=("off.timer",)), Demand.NONE),  # nobody has started it
        (unit(state="static", settings={"Service.BusName": ("a.b",)}), Demand.ONLY),
        (unit(state="disabled", settings={"Service.BusName": ("a.b",)}), Demand.NONE),
        (unit(state="static", wanted_by=("x.timer", "multi-user.target")), Demand.ALSO),
        (unit(wanted_by=("multi-user.target", "x.timer"), settings=ONESHOT), Demand.ALSO),
        (unit(wanted_by=("multi-user.target", "x.socket")), Demand.NONE),  # a daemon
        (
            unit(wanted_by=("multi-user.target", "x.timer"), settings={"Service.Restart": ("always",)}),
            Demand.NONE,
        ),
        (unit("x.mount", state="static", wanted_by=("x.automount",)), Demand.ONLY),
        (unit("x.target", state="static", wanted_by=("x.timer",)), Demand.NONE),
        (unit(), Demand.NONE),
        (unit(state="disabled"), Demand.NONE),
    ],
)
def test_who_is_started_on_demand(one: UnitFile, demand: Demand) -> None:
    active = {"x.timer", "x.path", "x.socket", "x.automount"}
    assert read_demand((one,), active)[one.name] is demand


def test_outcomes_are_triggers_too_and_others_come_along() -> None:
    fails = unit("a.service", settings={"Unit.OnFailure": ("tell@%n.service mend.service",)})
    mend = unit("mend.service", state="static")
    along = unit("along.service", state="static", wanted_by=("mend.service",))
    further = unit("further.service", state="static", needed_by=("along.service",))
    kept = unit("kept.service", state="static", wanted_by=("mend.service", "a.service"))
    demand = read_demand((further, along, kept, mend, fails), ())
    assert {name for name, each in demand.items() if each is Demand.ONLY} == {
        *("mend.service", "along.service", "further.service")
    }


def test_a_step_that_fails_before_its_main_command_has_no_exit_code() -> None:
    failure = detail("failed", "failed", type="oneshot", result="exit-code", exit_status=0)
    assert outcome(failure, BEGUN, Demand.NONE, "") == "failed (another command than its main one)"
