"""`necroscope fleet jobs` as a user calls it, with the answers of a real cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from necroscope.cli.main import main
from tests.fleet.jobs.answers import TOKEN, Said, as_recorded, recorded, serving
from tests.fleet.questions.jobs_tables import write_tables

SECOND = 10**6
HOUR = 3600 * SECOND
ENDED = {row["submission_id"]: row["end_time"] * 1000 for row in recorded("jobs.json")}
DAY = (ENDED["lost"] - 20 * HOUR, ENDED["lost"] + 4 * HOUR)
RANGE = ["-b", str(DAY[0] // SECOND), "-e", str(DAY[1] // SECOND)]


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """The NIC of worker-a (gpu-7) was reset when the jobs on it were lost; and a lockup near `own`."""
    events = [
        ("gpu-7", ENDED["lost"] - 3 * SECOND, "nic-reset"),
        ("vm", ENDED["own"] - 2 * SECOND, "soft-lockup"),
    ]
    write_tables(tmp_path / "fleet", {"vm": [DAY], "gpu-7": [DAY]}, events)
    (tmp_path / "hosts").write_text("worker-a = gpu-7\n")
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    return tmp_path


def words(fleet: Path, *more: str) -> list[str]:
    return ["fleet", "jobs", "--fleet", str(fleet / "fleet"), *RANGE, *more]


def ask(fleet: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    code = main(words(fleet, "--json", *more))
    return code, json.loads(capsys.readouterr().out)


def test_the_document(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(token=TOKEN) as server:
        named = ("--token-file", str(fleet / "token"), "--hosts-file", str(fleet / "hosts"))
        code, body = ask(fleet, capsys, "--ray", server.address, "--cluster", "prod", *named)
    assert code == 1
    assert {
        "verb": "fleet",
        "question": "jobs",
        "ok": True,
        "clusters": ["prod"],
        "not_told": [],
    }.items() <= body.items()
    assert (body["jobs"], body["ended"], body["failed"], body["attributed"]) == (8, 7, 6, 2)
    blames = {one["job"]["id"]: one for one in body["blames"]}
    assert blames["lost"]["blame"] == blames["losttask"]["blame"] == "node"
    assert (blames["lost"]["host"], blames["lost"]["seconds_before"]) == ("gpu-7", 3.0)
    assert blames["lost"]["job"]["hosts"] == ["gpu-7", "vm"]
    assert blames["own"]["blame"] == blames["missing"]["blame"] == "own"
    assert blames["exit3"]["blame"] == blames["killed"]["blame"] == "unknown"
    assert body["p"] == pytest.approx(35 / 86400, rel=0.01)  # both at once: one draw
    assert "How 1 job ended is not known" in body["note"]
    assert TOKEN not in json.dumps(body)


def test_one_that_failed_by_itself_near_an_event(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        code, body = ask(fleet, capsys, "--ray", server.address, "--kind", "soft-lockup")
    own = next(one for one in body["blames"] if one["job"]["id"] == "own")
    assert (own["blame"], own["event"][:11]) == ("own", "soft-lockup")
    assert code == 1  # `killed` and `exit3` ended within 30 s after it, too, and said nothing


def test_the_text_fits_a_narrow_terminal(
    fleet: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with serving() as server:
        assert main(words(fleet, "--ray", server.address, "--hosts-file", str(fleet / "hosts"))) == 1
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 60
    flat = " ".join(text.split())
    assert flat.startswith("2 of 6 failed jobs ended near a nic-reset, 0.0")
    assert "Put down to a node: 2" in flat
    assert "14.3% of 7 jobs succeeded; without these 42.9% would have" in flat
    assert "by itself: KeyError: 'loss'" in flat


def test_jobs_that_were_kept_are_there_when_the_cluster_is_gone(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as server:
        keep = ("--ray", server.address, "--cluster", "prod", "--keep", "--hosts-file", str(fleet / "hosts"))
        _, live = ask(fleet, capsys, *keep)
    assert main(["fleet", "ingest", "--fleet", str(fleet / "fleet"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["added"] == {"jobs": 8}
    code, kept = ask(fleet, capsys)
    assert code == 1
    assert kept["blames"] == live["blames"]
    assert {name: kept[name] for name in ("p", "jobs", "excess")} == {
        name: live[name] for name in ("p", "jobs", "excess")
    }
    assert ask(fleet, capsys, "--cluster", "other")[1]["jobs"] == 0


def test_a_job_outside_of_the_range_is_not_kept_without_its_nodes(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    early = ["-e", str(ENDED["own"] // SECOND)]
    with serving() as server:
        main(words(fleet, "--ray", server.address, "--keep", *early))
    main(["fleet", "ingest", "--fleet", str(fleet / "fleet")])
    capsys.readouterr()
    _, kept = ask(fleet, capsys)
    assert {one["job"]["id"] for one in kept["blames"]} == {"exit3", "missing", "killed"}


def test_a_node_whose_host_was_known_once(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        keep = ("--ray", server.address, "--cluster", "prod", "--keep")
        ask(fleet, capsys, *keep, "--hosts-file", str(fleet / "hosts"))
        _, body = ask(fleet, capsys, "--ray", server.address, "--cluster", "prod")
    assert body["attributed"] == 2


def test_nodes_that_no_host_is_known_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tables(tmp_path / "fleet", {"elsewhere": [DAY]}, [])
    with serving() as server:
        code, body = ask(tmp_path, capsys, "--ray", server.address)
    assert (code, body["checked"], body["own"]) == (0, 2, 2)
    assert "no host is known: vm" in body["note"]


def test_one_of_two_clusters_is_away(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as server, serving(lambda _: Said(b"", 503, "text/plain")) as away:
        code, body = ask(fleet, capsys, "--ray", server.address, "--ray", away.address)
        assert (code, body["jobs"]) == (0, 8)
        assert "503" in body["not_told"][0]
        assert main(words(fleet, "--ray", away.address)) == 3
    assert "503" in capsys.readouterr().err


def test_the_wrong_token_is_not_shown(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (fleet / "token").write_text("wrong-secret")
    with serving(as_recorded, TOKEN) as server:
        assert main(words(fleet, "--ray", server.address, "--token-file", str(fleet / "token"))) == 3
    said = capsys.readouterr()
    assert "does not accept our token" in said.err
    assert "wrong-secret" not in said.err + said.out


@pytest.mark.parametrize(
    "more",
    [
        ["--keep"],
        ["--token-file", "x"],
        ["--window", "0s"],
        ["--window", "2h"],
        ["--ray", "127.0.0.1:8265"],
        ["--ray", "http://a", "--ray", "http://a"],
        ["--ray", "http://a", "--cluster", "x", "--cluster", "y"],
        [
            "--ray",
            "http://a",
            "--ray",
            "http://b",
            "--ray",
            "http://c",
            "--token-file",
            "x",
            "--token-file",
            "y",
        ],
        ["--ray", "http://127.0.0.1:1", "--hosts-file", "/nowhere"],
        ["--kind", "nonsense"],
    ],
)
def test_words_that_make_no_sense(fleet: Path, more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(fleet, *more)) == 2
    assert capsys.readouterr().err


def test_a_fleet_without_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fleet").mkdir()
    assert main(words(tmp_path)) == 3
    assert "fleet ingest" in capsys.readouterr().err
