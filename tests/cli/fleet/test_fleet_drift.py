"""fleet drift as people run it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Document, Run
from tests.fleet.questions.hosts_of_facts import write_hosts
from tests.fleet.questions.test_drift import make_hosts

RANGE = ("-b", "2026-04-15T10:00:00Z", "-e", "2026-04-15T14:00:00Z")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    write_hosts(folder, make_hosts())
    return folder


def test_the_cause_is_the_first_line(necroscope: Run, fleet: Path) -> None:
    done = necroscope("fleet", "drift", "--fleet", fleet, *RANGE, env={"COLUMNS": "60"})
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ecs.service")
    assert "Compared failing (16 hosts) with healthy (44)" in done.stdout
    assert all(len(line) <= 60 for line in lines[lines.index("Why") :] if not line.startswith("  "))


def test_in_json(document: Document, fleet: Path) -> None:
    body = document("fleet", "drift", "--fleet", fleet, *RANGE, exit_code=1)
    assert (body["question"], body["symptom"], body["kinds"]) == ("drift", "failing", ["nic-reset"])
    assert body["differences"][0]["fact"] == "units/ecs.service/runs"
    assert body["begin"] == "2026-04-15T10:00:00.000Z"


@pytest.mark.parametrize("word", ["units/ecs.service/runs=crash-looping", "FILE"])
def test_who_fails_is_said(document: Document, fleet: Path, tmp_path: Path, word: str) -> None:
    (tmp_path / "hosts").write_text("# the sick ones\n" + "".join(f"node-{n:02}\n" for n in range(0, 60, 3)))
    failing = str(tmp_path / "hosts") if word == "FILE" else word
    body = document(
        "fleet", "drift", "--fleet", fleet, *RANGE, "--failing", failing, exit_code=int(word == "FILE")
    )
    assert len(body["groups"]["failing"]["hosts"]) == 20


def test_a_label_by_its_name_alone(document: Document, fleet: Path) -> None:
    body = document("fleet", "drift", "--fleet", fleet, *RANGE, "--failing", "zone=a")
    hosts = [host.name for host in make_hosts() if host.facts["labels"]["zone"] == "a"]
    assert body["groups"]["failing"]["hosts"] == hosts


def test_nothing_happened(necroscope: Run, tmp_path: Path) -> None:
    write_hosts(tmp_path, [replace(host, events_us=()) for host in make_hosts()])
    done = necroscope("fleet", "drift", "--fleet", tmp_path, *RANGE)
    assert done.returncode == 0
    assert done.stdout.startswith("nothing to explain: no host whose facts are known had nic-reset")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--failing", "nonsense"), "neither a file nor FACT=VALUE"),
        (("--failing", "zone=a", "--kind", "oom-kill"), "--kind does so too"),
        (("--failing", "/dev/null"), "neither a file"),
    ],
)
def test_words_that_do_not_fit(necroscope: Run, fleet: Path, words: tuple[str, ...], said: str) -> None:
    done = necroscope("fleet", "drift", "--fleet", fleet, *RANGE, *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_an_empty_file_names_nobody(necroscope: Run, fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# none\n")
    done = necroscope("fleet", "drift", "--fleet", fleet, *RANGE, "--failing", tmp_path / "hosts")
    assert (done.returncode, "names no host" in done.stderr) == (2, True)
