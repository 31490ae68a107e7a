"""Did it help: a real leak of memory cgroups, recorded before and after it is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.faults.steady_leaks import SteadyLeak, steady_leak
from lab.faults.zombies import why_not
from lab.machines import nspawn
from necroscope.cli.measuring import record_baseline
from necroscope.cli.verify import EXIT_CODES
from necroscope.model.plan import Goal, Treatment
from necroscope.model.verdict import Verdict
from necroscope.remedies.verify.expect import expect
from necroscope.sources.host import Host
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.throttling import THROTTLING
from necroscope.store.read_range import read_moments
from necroscope.store.store import Store
from tests.real.recorders import recording, wait_until
from tests.remedies.on_record import applied_fix, plan_of

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("necroscope")
GOALS = (Goal("zombie-growth", ""), Goal("zombies", ""))
BASELINE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Scene:
    """A host with a leak, whose time until now is recorded."""

    store: Path
    leak: SteadyLeak


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    store = tmp_path_factory.mktemp("verify") / "store"
    with steady_leak(per_second=40) as leak:
        time.sleep(1)  # some are there when the recording begins
        record_baseline(Host(), store, BASELINE_SECONDS, lambda *_: None)
        yield Scene(store, leak)


def fix_now(store: Path) -> str:
    return applied_fix(store, plan_of(GOALS), time.time_ns(), time.time_ns())


def verify(store: Path, *words: str) -> tuple[int, dict[str, Any]]:
    command = [str(PROGRAM), "verify", "--json", "--store", str(store), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout, done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, body


def verdicts(body: dict[str, Any]) -> dict[str, str]:
    return {row["quantity"]: row["verdict"] for row in body["quantities"] if row["is_goal"]}


def seconds_of_open_segment(store: Path) -> float:
    return sum((s.end_ns - s.begin_ns) / 1e9 for s in Store(store).segments() if s.is_open)


def test_a_short_baseline_has_two_readings_of_what_is_read_once_a_minute(scene: Scene) -> None:
    (segment,) = Store(scene.store).segments()
    for source in (THROTTLING, NIC_QUEUES):
        readings = [moment.time_ns for moment in read_moments(segment, (source,))]
        assert len(readings) == 2
        assert (readings[-1] - readings[0]) / 1e9 > BASELINE_SECONDS - 2


def test_stopping_the_wrong_one_is_told_as_unchanged(scene: Scene) -> None:
    fix = fix_now(scene.store)
    code, body = verify(scene.store, fix, "--window", "10s")
    assert (code, body["verdict"]) == (4, "unchanged"), body
    assert verdicts(body) == {"zombie-growth": "unchanged", "zombies": "unchanged"}
    growth = body["quantities"][0]
    assert 0.5 < growth["low"] < growth["ratio"] < growth["high"] < 2
    assert growth["before"]["value"] == pytest.approx(40 * 3600, rel=0.3)
    assert 7 < body["before_seconds"] <= 10.5 and 9 < body["after_seconds"] <= 10.5


def test_a_window_that_is_too_short_says_how_long_it_must_be(scene: Scene) -> None:
    """The leak is stopped, and three seconds cannot show it; left with Ctrl-C and asked again, eleven do."""
    scene.leak.purge()
    fix = fix_now(scene.store)
    code, body = verify(scene.store, "--window", "3s")
    assert (code, body["verdict"], body["fix"]) == (3, "inconclusive", fix), body
    assert 3 < body["needed_seconds"] < 60
    assert verdicts(body) == {"zombie-growth": "inconclusive", "zombies": "inconclusive"}
    assert "window" in body["summary"]

    process = subprocess.Popen(
        [str(PROGRAM), "verify", fix, "--json", "--window", "11s", "--store", str(scene.store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: seconds_of_open_segment(scene.store) >= 2, 60, "a recording of our own")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    left = json.loads(output)
    assert process.returncode == 130
    assert left["interrupted"] and 0 < left["missing_seconds"] < 9
    assert left["after_seconds"] > body["after_seconds"]

    begin = time.monotonic()
    code, body = verify(scene.store, fix, "--window", "11s")
    assert (code, body["verdict"]) == (0, "better"), body
    assert verdicts(body) == {"zombie-growth": "better", "zombies": "better"}
    assert time.monotonic() - begin < left["missing_seconds"] + 30
    assert body["quantities"][0]["high"] < 1
    assert body["quantities"][1]["before"]["value"] > 100

    code, again = verify(scene.store, fix, "--window", "11s", "--now")
    assert (code, again["quantities"]) == (0, body["quantities"])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_recorder_that_runs_is_waited_for(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with recording(store, "--rate", "0", samples=False) as recorder:
        record_baseline(Host(), store, 2.0, lambda *_: None)
        code, body = verify(store, "--at", "now", "--window", "3s")
        assert recorder.process.poll() is None
    assert code == EXIT_CODES[Verdict(body["verdict"])]
    assert body["after_seconds"] == pytest.approx(3, abs=0.6)
    assert body["before_seconds"] > 0
    assert {segment.description.recorder.pid for segment in Store(store).segments()} == {recorder.pid}


CRASHING = """[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/false
Restart=always
RestartSec=200ms
"""


@pytest.mark.skipif(nspawn.why_not() is not None, reason=str(nspawn.why_not()))
def test_a_crash_loop_of_a_real_systemd_is_over(tmp_path: Path) -> None:
    store, unit = tmp_path / "store", "crashing.service"
    with nspawn.Container(units={unit: CRASHING}, enable=(unit,), binds=(CHECKOUT, tmp_path)) as machine:

        def verify_inside(*words: str) -> tuple[int, dict[str, Any]]:
            done = machine.run([str(PROGRAM), "verify", "--json", "--store", str(store), *words])
            assert done.stdout, done.stderr
            return done.returncode, json.loads(done.stdout)

        words = ["record", "-d", "4s", "--rate", "0", "--store", str(store)]
        assert machine.run([str(PROGRAM), *words]).returncode == 0
        goals = (Goal("unit-restarts", unit), Goal("unit-runs", unit))
        plan = plan_of(goals, (Treatment("disable-unit", unit),), machine.name)
        begun_ns = time.time_ns()
        machine.run(["systemctl", "stop", unit])
        applied_fix(store, plan, begun_ns, time.time_ns())
        code, body = verify_inside("--window", "4s")
    assert (code, body["verdict"]) == (0, "better"), body
    restarts, runs = body["quantities"][:2]
    assert restarts["before"]["events"] >= 5
    assert restarts["after"]["events"] == 0
    assert runs["before"]["value"] < 1.0  # it waits for its next start most of the time
    assert runs["after"]["value"] == 0.0


@pytest.mark.skipif(nspawn.why_not() is not None, reason=str(nspawn.why_not()))
def test_a_unit_that_is_seldom_restarted_asks_for_a_longer_baseline() -> None:
    unit = "seldom.service"
    units = {unit: CRASHING.replace("200ms", "30s"), "often.service": CRASHING}
    with nspawn.Container(units=units, enable=tuple(units)) as machine:
        host = Host(machine.root)
        goals = [Goal("unit-restarts", name) for name in units]

        def hints() -> list[str]:
            return [line for line in expect(plan_of(goals), None, host) if "--baseline" in line]

        wait_until(lambda: bool(hints()), 30, "a first failure")
        assert hints() == [
            f"{unit} is started again after 30 s: to see enough restarts before, record longer: --baseline 5m"
        ]
