"""fleet flame as people run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Document, Run
from tests.diagnosis.sampled_seconds import sampled_segment
from tests.fleet.questions.hosts_with_samples import SampledHost, ship_hosts
from tests.fleet.questions.test_culprit import RESET, SECONDS, loaded
from tests.stored import event_of

RANGE = ("-b", "2026-04-15T10:00:00Z", "-e", "2026-04-15T11:00:00Z")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hosts with a culprit, and one that has not shipped its samples."""
    folder = tmp_path_factory.mktemp("fleet")
    hosts = []
    for seed in range(3):
        events = [event_of("nic-reset", RESET + 0.5, device="eth0")]
        plan = loaded(seed, "kubelet", range(RESET - 5, RESET + 2))
        segment = sampled_segment(folder / str(seed), plan, seconds=range(SECONDS), events=events)
        hosts.append(SampledHost(f"node-{seed}", [segment], has_shipped=seed < 2))
    ship_hosts(folder / "place", hosts)
    return folder / "place"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE", str(tmp_path / "cache"))


def test_on_a_terminal(necroscope: Run, fleet: Path) -> None:
    done = necroscope("fleet", "flame", "--fleet", fleet, *RANGE, env={"COLUMNS": "60"})
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert text.startswith("5 s before 2 events (nic-reset) of 2 hosts, 2026-04-15T10:00:00")
    assert "the samples of 1 of 3 events are not here" in text
    assert "mem_cgroup_nr_lru_pages" in text
    assert all(len(line) <= 60 for line in done.stdout.splitlines())


def test_in_json(document: Document, fleet: Path) -> None:
    body = document("fleet", "flame", "--fleet", fleet, *RANGE, exit_code=0)
    assert (body["question"], body["events"], body["merged"], body["hosts"]) == ("flame", 3, 2, 2)
    assert body["tree"]["total"][0] == body["samples"] > 0
    assert [one["host"] for one in body["not_merged"]] == ["node-2"]


def test_into_a_file(necroscope: Run, fleet: Path, tmp_path: Path) -> None:
    words = ("fleet", "flame", "--fleet", fleet, *RANGE, "-o")
    done = necroscope(*words, tmp_path / "resets.svg")
    assert done.returncode == 0, done.stderr
    assert "kubelet" in (tmp_path / "resets.svg").read_text()
    assert necroscope(*words, tmp_path / "resets.svg").returncode == 2
    assert "no such format" in necroscope(*words, tmp_path / "resets.docx").stderr


def test_nothing_there(necroscope: Run, fleet: Path) -> None:
    done = necroscope("fleet", "flame", "--fleet", fleet, *RANGE, "--kind", "oom-kill")
    assert done.returncode == 3
    assert "no such event in this time" in done.stderr
