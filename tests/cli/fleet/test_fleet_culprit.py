"""fleet culprit as people run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Document, Run
from tests.diagnosis.sampled_seconds import sampled_segment
from tests.fleet.questions.hosts_with_samples import SampledHost, ship_hosts
from tests.fleet.questions.test_culprit import RESET, SECONDS, loaded
from tests.stored import event_of

RANGE = ("-b", "2026-04-15T10:00:00Z", "-e", "2026-04-15T11:00:00Z")
HOSTS = 4


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four hosts with a culprit, and one that has not shipped its samples."""
    folder = tmp_path_factory.mktemp("fleet")
    hosts = []
    for seed in range(HOSTS + 1):
        events = [event_of("nic-reset", RESET + 0.5, device="eth0")]
        plan = loaded(seed, "kubelet", range(RESET - 5, RESET + 2))
        segment = sampled_segment(folder / str(seed), plan, seconds=range(SECONDS), events=events)
        hosts.append(SampledHost(f"node-{seed}", [segment], has_shipped=seed < HOSTS))
    ship_hosts(folder / "place", hosts)
    return folder / "place"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE", str(tmp_path / "cache"))


def test_the_first_line_names_it(necroscope: Run, fleet: Path) -> None:
    done = necroscope("fleet", "culprit", "--fleet", fleet, *RANGE, env={"COLUMNS": "60"})
    assert done.returncode == 1, done.stderr
    text = " ".join(done.stdout.split())
    assert text.startswith(
        "kubelet in mem_cgroup_nr_lru_pages stands out before the events of 4 of 4 hosts: "
    )
    assert "4 of 5 events compared" in text
    assert "1 event its host has not shipped the samples" in text
    assert all(len(line) <= 60 for line in done.stdout.splitlines())


def test_in_json(document: Document, fleet: Path) -> None:
    body = document("fleet", "culprit", "--fleet", fleet, *RANGE, exit_code=1)
    assert (body["question"], body["events"], body["compared"], body["hosts"]) == ("culprit", 5, 4, 4)
    assert body["culprit"] == body["suspects"][0]
    assert body["culprit"]["way"] in ("self", "inclusive")
    assert [one["host"] for one in body["not_compared"]] == ["node-4"]
    assert body["begin"] == "2026-04-15T10:00:00.000Z"


def test_nothing_happened(necroscope: Run, fleet: Path) -> None:
    done = necroscope("fleet", "culprit", "--fleet", fleet, *RANGE, "--kind", "oom-kill")
    assert done.returncode == 0
    assert done.stdout.startswith("nothing to explain")


@pytest.mark.parametrize("words", [("--most", "0"), ("--most", "x"), ("--window", "0s"), ("--window", "2h")])
def test_words_that_do_not_fit(necroscope: Run, fleet: Path, words: tuple[str, ...]) -> None:
    assert necroscope("fleet", "culprit", "--fleet", fleet, *RANGE, *words).returncode == 2
