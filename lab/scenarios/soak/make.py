"""Soak the recorder: churn for an hour, and then count everything."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass

from lab.faults import wall_clock
from lab.faults.churn import churning
from lab.faults.hogs import user_hog
from lab.faults.wall_clock import clock_set_by
from lab.recorders import segments_of
from lab.running.expectation import Results
from lab.running.stage import Stage
from lab.scenarios.soak.observed import Observed
from lab.scenarios.soak.results import results_of
from lab.scenarios.soak.watch import half_done, trace_instances

HOUR_SECONDS = 3600.0
LOOKS = "looks.json"  # for whoever wants to see the lines rather than their trends
STEP_SECONDS = 30.0  # by how much the clock is set, forth and back in turns
WRONG_SECONDS = 2.0  # for how long
WHOLE_NS = 2 * 10**9  # a shorter segment may have no whole second to draw
SETTLE_SECONDS = 12.0  # the ledger is read every five seconds, and a release takes its time


@dataclass(frozen=True, slots=True)
class Plan:
    """How long, and how much."""

    seconds: float
    segment_seconds: int
    budget_bytes: int  # less than all would take; a quarter of it keeps several until they are read
    look_seconds: float
    clock_steps: int = 6


def plan(times_faster: float) -> Plan:
    """The hour, or less of it with shorter segments."""
    return Plan(
        seconds=HOUR_SECONDS / times_faster,
        segment_seconds=int(max(120 / times_faster, 15)),
        budget_bytes=int(max(16 / times_faster, 2.5) * 2**20),
        look_seconds=max(5 / times_faster, 1.0),
    )


def play(stage: Stage) -> None:
    """Record under churn, end, and say what was found."""
    soak = plan(stage.times_faster)
    steps = _steps(stage, soak)
    stage.stand_in("the lines of the kernel log are written by a program, as by echo, and not by a driver")
    stage.tell(f"recording for {soak.seconds:g} s under churn, the wall clock is set {len(steps)} times")
    words = ("--segment", f"{soak.segment_seconds}s", "--budget", str(soak.budget_bytes))
    with (
        _every_core_busy(),
        stage.recording(*words, "--listen", "127.0.0.1:0") as recorder,
        churning(stage.folder, f"soak-{os.getpid()}") as churn,
    ):
        observed = Observed(recorder, churn)
        with stage.gauge("recorder", observed.status):
            _soak(stage, observed, soak, steps)
            churned = churn.stop()
            observed.watch(SETTLE_SECONDS, soak.look_seconds)
        code, answer = recorder.end()
        observed.read_sealed()
    stage.tell("all is read; now every segment that is left is looked at by the program")
    stage.results = results_of(observed, churned, code, answer)
    stage.results["plan"] = asdict(soak)
    stage.results["clock"]["steps_made"] = [round(part) for step in steps for part in (step, -step)]
    stage.results["store"] = _store(stage, observed, soak)
    (stage.folder / LOOKS).write_text(json.dumps([asdict(one) for one in observed.looks]))


def _soak(stage: Stage, observed: Observed, soak: Plan, steps: list[float]) -> None:
    """Watch, with the clock set wrong now and then."""
    pause = soak.seconds / (2 * max(len(steps), 1))
    for step in steps:
        observed.watch(pause, soak.look_seconds)
        stage.tell(f"{observed.status()}; now the clock is set by {step:+g} s for {WRONG_SECONDS:g} s")
        with clock_set_by(step):
            time.sleep(WRONG_SECONDS)
        observed.watch(pause - WRONG_SECONDS, soak.look_seconds)
    if not steps:
        observed.watch(soak.seconds, soak.look_seconds)


def _steps(stage: Stage, soak: Plan) -> list[float]:
    why = wall_clock.why_not()
    if why and "clock" not in stage.without:
        stage.leave_out("clock", why)
    if why or "clock" in stage.without:
        return []
    return [STEP_SECONDS * (-1) ** number for number in range(soak.clock_steps)]


@contextmanager
def _every_core_busy() -> Iterator[None]:
    """With what runs only where nothing else wants to: an idle core is hardly sampled."""
    with ExitStack() as stack:
        for core in os.sched_getaffinity(0):
            pid = stack.enter_context(user_hog(core))
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        yield


def _store(stage: Stage, observed: Observed, soak: Plan) -> Results:
    """What is left on disk, after the program has opened every segment of it."""
    without_samples = []
    for segment in segments_of(stage.store):
        window = ("-b", f"{segment.begin_ns / 1e9:.9f}", "-e", f"{segment.end_ns / 1e9:.9f}")
        if segment.end_ns - segment.begin_ns >= WHOLE_NS:
            stage.ask("timeline", *window)
            stage.ask("events", *window)
        if not stage.ask("flame", *window, "--idle")["samples"]:
            without_samples.append(segment.folder.name)
    last_bytes = sum(observed.digests[name].size_bytes for name in observed.left)
    return {
        "budget_bytes": soak.budget_bytes,
        "last_bytes": last_bytes,
        "most_bytes": observed.most_bytes,
        "open_most_bytes": observed.open_most_bytes,
        "limit_bytes": soak.budget_bytes + observed.open_most_bytes,  # room is made when one is sealed
        "opened": len(observed.left),
        "without_samples": without_samples,
        "half_done": half_done(stage.store),
        "trace_instances": trace_instances(observed.recorder.pid),
    }
