"""Two zones, one after the other, each recorded and asked; then their snapshots compared."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from lab.faults import nic_stalls
from lab.faults.bootstrap_steps import STEP, Boot, one_image
from lab.faults.crash_loops import UNIT, leaked
from lab.faults.kernel_lines import TRUST
from lab.machines.nspawn import Container
from lab.recorders import PROGRAM, segments_of
from lab.running.stage import Stage
from necroscope.sources.cores import CORES
from necroscope.sources.held_back_units import HELD_BACK_UNITS
from necroscope.sources.source import Source
from necroscope.sources.units import UNITS
from necroscope.store.read_range import read_moments

CHECKOUT = Path(__file__).parents[3]
PER_START = 300
SECONDS_BEFORE_LINE = 7  # more than the line says that the queue stood still
SECONDS_AFTER_LINE = 2
WAIT_SECONDS = 60.0  # at most, for a boot and for what is to be recorded
LOOK_AGAIN_SECONDS = 0.25
RECORD = ("--rate", "0", "--segment", "6s")  # units are read when a segment begins


def play(stage: Stage) -> None:
    """The zone with the leak first: what is left of its zombies does not hide the other's good health."""
    stage.stand_in("the two hosts are containers on this machine's kernel, one after the other")
    stage.stand_in(
        f"{UNIT} is a script that leaks {PER_START} memory cgroups a start; the real one leaked one"
    )
    binds = (CHECKOUT, stage.folder)
    with one_image(PER_START, binds=binds) as boot:
        sick = _sick_zone(stage, boot)
        lucky = _lucky_zone(stage, boot)
    stage.tell("the snapshots of both are compared")
    drift = stage.ask("drift", str(sick), str(lucky), store=False)
    rows = [row for row in drift["differences"] if row["matters"]]
    stage.results["drift"] = {
        "first": rows[0],
        "second": rows[1],
        "that_matter": [row["fact"] for row in rows],
    }
    (stage.folder / "drift.txt").write_text(_printed("drift", str(sick), str(lucky)))


def _sick_zone(stage: Stage, boot: Boot) -> Path:
    stage.tell(f"zone 1: {STEP} works, {UNIT} starts, fails and leaks")
    with boot(works=True) as machine:
        snapshot = _snapshot(stage, machine, "sick")
        with stage.recording(*RECORD, prefix=machine.prefix, samples=False):
            begun, level = time.monotonic(), leaked()
            _wait_for_readings(stage, machine, UNITS, 2)  # with a few starts in between
            leaked_per_second = (leaked() - level) / (time.monotonic() - begun)
        body = stage.ask("diagnose", "--host", machine.name)
    found = body["diagnosis"] or {}
    stage.results["sick"] = {
        "host": machine.name,
        "conclusion": found.get("conclusion"),
        "roots": [link["id"] for link in found.get("chain", ())][:1],
        "verdict": found.get("verdict"),
        "treats": [f"{each['remedy']} {each['subject']}".strip() for each in found.get("treatments", ())],
        "by_accident": body["by_accident"],
        "leaked_per_second": round(leaked_per_second),
    }
    return snapshot


def _lucky_zone(stage: Stage, boot: Boot) -> Path:
    stage.tell(f"zone 2: {STEP} fails, and {UNIT} does not start")
    with boot(works=False) as machine:
        snapshot = _snapshot(stage, machine, "lucky")
        why_no_stall = nic_stalls.why_not()
        if why_no_stall:
            stage.leave_out("stall", why_no_stall)
        with stage.recording(*RECORD, TRUST, prefix=machine.prefix, samples=False):
            _wait_for_readings(stage, machine, HELD_BACK_UNITS, 1)
            seconds = _wait_for_readings(stage, machine, CORES, SECONDS_BEFORE_LINE)
            quiet = stage.ask("diagnose", "--host", machine.name)
            if not why_no_stall and "stall" not in stage.without:
                stage.stand_in("the driver's line about a stalled queue is written by the lab")
                stage.tell("zone 2: a driver complains of a stalled queue")
                nic_stalls.write_stall(nic_stalls.transmit_queues()[0])
                _wait_for_readings(stage, machine, CORES, seconds + SECONDS_AFTER_LINE)
        after = stage.ask("diagnose", "--host", machine.name)
        doctor = stage.ask("doctor", "-d", "2s", prefix=machine.prefix)
        (stage.folder / "lucky.txt").write_text(stage.show("diagnose", "--host", machine.name))
    stage.results["lucky"] = {
        "host": machine.name,
        "by_accident": [_accident(one) for one in quiet["by_accident"] or ()],
        "stalled": _stalled(after["diagnosis"] or {}),
        "doctor": _held_back(doctor),
    }
    return snapshot


def _stalled(diagnosis: dict[str, Any]) -> dict[str, Any]:
    held_back = [_accident(one) for one in diagnosis.get("by_accident", ())]
    return {
        "symptom": diagnosis.get("symptom", ""),
        "conclusion": diagnosis.get("conclusion", ""),
        "verdict": diagnosis.get("verdict", ""),
        "by_accident": held_back,
    }


def _accident(accident: dict[str, Any]) -> dict[str, Any]:
    evidence = {one["name"]: one["value"] for one in accident["evidence"]}
    condition = evidence.get("condition that did not hold", "")
    return {"unit": accident["unit"], "because": accident["because"], "condition": condition}


def _held_back(doctor: dict[str, Any]) -> dict[str, Any]:
    found = [one for one in doctor["findings"] if one["id"] == "unit-held-back"]
    return {"verdict": doctor["verdict"], "held_back": [one["summary"] for one in found]}


def _snapshot(stage: Stage, machine: Container, name: str) -> Path:
    """Of a zone that has tried to start all that it starts."""
    has_booted = ["systemctl", "is-system-running", "--wait"]
    machine.run(has_booted, timeout_seconds=WAIT_SECONDS)
    done = machine.run([str(PROGRAM), "snapshot"])
    if done.returncode:
        raise RuntimeError(f"necroscope snapshot ended with {done.returncode}: {done.stderr}")
    path = stage.folder / f"{name}.json"
    path.write_text(json.dumps(json.loads(done.stdout)))
    return path


def _wait_for_readings(stage: Stage, machine: Container, source: Source[Any], wanted: int) -> int:
    """How many readings of a zone are on disk, once they are as many as wanted."""
    deadline = time.monotonic() + WAIT_SECONDS
    while (found := _readings(stage, machine, source)) < wanted:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{found} of {wanted} readings of {source.id} within {WAIT_SECONDS:g} s")
        time.sleep(LOOK_AGAIN_SECONDS)
    return found


def _readings(stage: Stage, machine: Container, source: Source[Any]) -> int:
    segments = [one for one in segments_of(stage.store) if one.host == machine.name]
    return len({moment.time_ns for one in segments for moment in read_moments(one, (source,))})


def _printed(*words: str) -> str:
    return subprocess.run([str(PROGRAM), *words], capture_output=True, text=True, check=False).stdout
