"""Real jobs on a real cluster: one dies because its network stalled, one by itself, and one succeeds."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lab.faults import nic_stalls
from lab.faults.kernel_lines import TRUST
from necroscope.cli.main import main
from necroscope.fleet.place.folder import FolderPlace
from tests.fleet.jobs.real_cluster import JobsCluster, jobs_cluster, why_not
from tests.fleet.tables.shipped import put_segment
from tests.real.recorders import recording, wait_until

REASON = why_not() or nic_stalls.why_not()
pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs a core beside the busy one"),
]
CORE = (os.cpu_count() or 1) - 1
MINUTE_US = 60 * 10**6
QUIET_HOURS = 12
OWN = """
import ray
ray.init(address="auto", log_to_driver=False)

@ray.remote(resources={"worker": 0.1}, num_cpus=0)
def train():
    return {}["loss"]

ray.get(train.remote())
"""


def trains(steps: int, timeout_seconds: float) -> tuple[str, ...]:
    """The job of the lab: one rank on each host, which add up their gradients."""
    return (sys.executable, "-m", "lab.training.driver", str(steps), str(timeout_seconds))


def write_stall() -> None:
    nic_stalls.write_stall(nic_stalls.transmit_queues()[0])


def quiet_hours(place: FolderPlace, host: str) -> None:
    """The hours before, in which nothing happened: nobody waits for them here."""
    now_us = time.time_ns() // 1000
    for hours in range(1, QUIET_HOURS + 1):
        begin_us = now_us - (hours * 60 + 5) * MINUTE_US
        put_segment(place, host, begin_us, end_us=begin_us + 60 * MINUTE_US, recorded_us=60 * MINUTE_US)


def run_jobs(cluster: JobsCluster, folder: Path) -> None:
    cluster.submit("fine", *trains(3, 60.0))
    assert cluster.wait_for("fine") == "SUCCEEDED", cluster.log("fine")
    cluster.submit("stalled", *trains(100_000, 5.0))
    wait_until(lambda: '"step": 2' in cluster.log("stalled"), 60, "the job at work")
    with cluster.worker_cut_off():
        time.sleep(5)  # then a driver says so, and resets its device
        write_stall()
        time.sleep(4)
        assert "timed out" in cluster.log("stalled"), cluster.log("stalled")[-1000:]
    assert cluster.wait_for("stalled") == "FAILED"
    script = folder / "own.py"
    script.write_text(OWN)
    cluster.submit("own", sys.executable, str(script))
    assert cluster.wait_for("own") == "FAILED"
    write_stall()  # near its end, and not why


def question(cluster: JobsCluster, tmp_path: Path) -> tuple[str, ...]:
    named = ("--hosts-file", str(tmp_path / "hosts"), "--cluster", "lab", "--ray", cluster.dashboard)
    return ("fleet", "jobs", "--json", "--fleet", str(tmp_path / "place"), "-b", "1d", *named)


def ask(cluster: JobsCluster, tmp_path: Path, *words: str) -> tuple[int, dict[str, Any]]:
    said = cluster.necroscope(*question(cluster, tmp_path), *words)
    assert cluster.token not in said.stdout + said.stderr
    return said.returncode, json.loads(said.stdout)


def check_answer(code: int, body: dict[str, Any]) -> None:
    blames = {one["job"]["id"]: one for one in body["blames"]}
    assert {name: one["blame"] for name, one in blames.items()} == {"stalled": "node", "own": "own"}, blames
    stalled, own = blames["stalled"], blames["own"]
    assert (stalled["host"], stalled["kind"]) == ("worker-1", "nic-reset")
    assert stalled["sign"] in ("collective-timeout", "timeout")
    assert -5 <= stalled["seconds_before"] <= 30
    assert own["host"] == "worker-1" and own["event"]  # it was near, and is put down to chance
    assert "KeyError: 'loss'" in own["sentence"]
    assert (body["attributed"], body["own"], body["with_event"]) == (1, 1, 2)
    assert code == 1 and body["p"] < 0.01
    assert body["success_rate"] == pytest.approx(2 / 4)  # and the first, that tried whether jobs are taken
    assert body["success_rate_without"] == pytest.approx(3 / 4, abs=0.01)


def without_chance(body: dict[str, Any]) -> list[dict[str, Any]]:
    """What is said of each job; chance is of the range, and that has moved with the time."""
    return [{name: value for name, value in one.items() if name != "by_chance"} for one in body["blames"]]


def test_the_job_whose_network_stalled_is_put_down_to_the_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = FolderPlace(tmp_path / "place")
    place.root.mkdir()
    (tmp_path / "config.toml").write_text(
        f'[fleet]\nplace = "{place.root}"\nname = "worker-1"\nevery = "5s"\n'
    )
    (tmp_path / "hosts").write_text("198.51.100.2 = worker-1\n")
    words = ("--rate", "0", "--segment", "10s", TRUST, "--config", str(tmp_path / "config.toml"))
    with jobs_cluster(CORE) as cluster:
        with recording(tmp_path / "store", *words, samples=False) as recorder:
            run_jobs(cluster, tmp_path)
            time.sleep(6)  # the window of the last job goes on for 5 s
            code, ended = recorder.end()
        assert (code, ended["ship"]["waiting"]) == (0, 0), ended["ship"]
        quiet_hours(place, "worker-1")
        assert main(["fleet", "ingest", "--fleet", str(place.root)]) == 0
        token = tmp_path / "token"
        token.write_text(cluster.token)
        code, live = ask(cluster, tmp_path, "--token-file", str(token), "--keep")
        check_answer(code, live)
        assert "Nodes of which no host is known: " in live["note"]  # the head
        on_ray = json.loads(
            cluster.necroscope_as_driver(*question(cluster, tmp_path), "--engine", "ray").stdout
        )
        assert without_chance(on_ray) == without_chance(live)  # counted by the cluster itself
        token.write_text("wrong" * 10)
        assert ask(cluster, tmp_path, "--token-file", str(token))[0] == 3
        assert ask(cluster, tmp_path)[0] == 3  # none at all
    assert main(["fleet", "ingest", "--fleet", str(place.root)]) == 0
    capsys.readouterr()
    code = main(["fleet", "jobs", "--json", "--fleet", str(place.root), "-b", "1d"])
    kept = json.loads(capsys.readouterr().out)
    check_answer(code, kept)  # the cluster is gone
    assert without_chance(kept) == without_chance(live)
