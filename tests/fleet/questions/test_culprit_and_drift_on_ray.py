"""fleet culprit and fleet drift on a real Ray cluster: the same answers, to the last digit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.diagnosis.sampled_seconds import sampled_segment
from tests.fleet.questions.hosts_of_facts import write_hosts
from tests.fleet.questions.hosts_with_samples import SampledHost, ship_hosts
from tests.fleet.questions.test_culprit import RESET, SECONDS, loaded
from tests.fleet.questions.test_drift import make_hosts
from tests.fleet.ray_cluster import ray_cluster, why_no_cluster
from tests.stored import event_of

REASON = why_no_cluster()
pytestmark = [pytest.mark.skipif(REASON is not None, reason=str(REASON)), pytest.mark.servers]
PROGRAM = Path(sys.executable).with_name("necroscope")
RANGE = ("-b", "2026-04-15T10:00:00Z", "-e", "2026-04-15T14:00:00Z", "--json")


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 1, done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    return body


def test_the_same_answers_as_here(tmp_path: Path) -> None:
    hosts = []
    for seed in range(5):
        events = [event_of("nic-reset", RESET + 0.5, device="eth0")]
        plan = loaded(seed, "kubelet" if seed < 4 else "", range(RESET - 5, RESET + 2))
        segment = sampled_segment(tmp_path / str(seed), plan, seconds=range(SECONDS), events=events)
        hosts.append(SampledHost(f"node-{seed}", [segment]))
    ship_hosts(tmp_path / "samples", hosts)
    write_hosts(tmp_path / "facts", make_hosts())
    settings = {"NECROSCOPE_FLEET_CACHE": str(tmp_path / "cache")}
    with ray_cluster(("head", "worker"), dashboard=False, settings=settings) as cluster:
        for question, place in (("culprit", "samples"), ("drift", "facts")):
            words = [str(PROGRAM), "fleet", question, "--fleet", str(tmp_path / place), *RANGE]
            own = {"NECROSCOPE_FLEET_CACHE": str(tmp_path / "own")}
            here = cluster.run("head", *words, settings={**cluster.settings, **own})
            there = cluster.run("head", *words, "--engine", "ray", timeout_seconds=180)
            assert answer(here) == answer(there)
    assert answer(here)["differences"]
    # The workers have brought the samples themselves, into the cache of their nodes.
    assert len(list((tmp_path / "cache-segments").glob("*/node-*"))) == 5
