"""drift as people run it, on snapshots of known content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lab.snapshots import Plan, make_fleet, write_fleet, write_snapshot
from necroscope.model.snapshot import Snapshot
from tests.cli.conftest import Document, Run

EFFECT = (
    "ecs.service runs on host-b and not on host-a, "
    "because bootstrap step node-setup.service failed on host-b (exit 1)"
)
CAUSE = "bootstrap step node-setup.service failed (exit 1) on host-b and succeeded on host-a"


def save(folder: Path, host: str, facts: Mapping[str, Mapping[str, str]], **not_read: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return write_snapshot(Snapshot(host, facts, not_read), folder / f"{host}.json")


def facts(*, is_broken: bool, **more: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    return {
        "units": {
            "ecs.service/runs": "running" if is_broken else "stopped",
            "ecs.service/enabled": "enabled" if is_broken else "disabled",
        },
        "bootstrap": {
            "node-setup.service": "failed (exit 1)" if is_broken else "succeeded",
            "node-setup.service/names": "/etc/ecs ecs.service",
        },
        "site": {"motto": "old" if is_broken else "new"},
        **more,
    }


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return (
        save(tmp_path, "host-a", facts(is_broken=False), nics="not running"),
        save(tmp_path, "host-b", facts(is_broken=True), nics="not running"),
    )


def test_the_first_line_is_the_agent_and_the_second_its_cause(
    necroscope: Run, pair: tuple[Path, Path]
) -> None:
    done = necroscope("drift", *pair, env={"COLUMNS": "60"})
    lines = done.stdout.splitlines()
    assert lines[:3] == [EFFECT, CAUSE, ""]
    assert done.returncode == 1
    assert "site motto is new on host-a and is old on host-b" in done.stdout
    assert "host-a, host-b: not running" in done.stdout


def test_the_same_in_json(document: Document, pair: tuple[Path, Path]) -> None:
    body = document("drift", *pair, exit_code=1)
    assert body["groups"] == {"host-a": {"hosts": ["host-a"]}, "host-b": {"hosts": ["host-b"]}}
    first, second, third = body["differences"]
    assert [row["rank"] for row in body["differences"]] == [1, 2, 3]
    assert (first["fact"], first["summary"], first["relevance"]) == (
        "units/ecs.service/runs",
        EFFECT,
        "known",
    )
    assert first["values"] == {"host-a": {"stopped": 1}, "host-b": {"running": 1}}
    assert first["hosts"] == {"stopped": ["host-a"], "running": ["host-b"]}
    assert first["because"]["fact"] == second["fact"] == "bootstrap/node-setup.service"
    assert first["because"]["is_shown"] is True
    assert second["cause_of"] == ["units/ecs.service/runs"]
    assert [fact["fact"] for fact in first["together"]] == ["units/ecs.service/enabled"]
    assert (third["fact"], third["relevance"], third["p"]) == ("site/motto", "incidental", None)
    assert body["not_compared"] == [
        {"section": "nics", "hosts": ["host-a", "host-b"], "reason": "not running"}
    ]
    assert (body["matter"], body["symptom"], body["facts"]) == (2, None, 5)


def test_no_difference_that_matters_is_exit_code_0(necroscope: Run, tmp_path: Path) -> None:
    one = save(tmp_path, "a", {"site": {"x": "1"}})
    same = save(tmp_path, "b", {"site": {"x": "1"}})
    other = save(tmp_path, "c", {"site": {"x": "2"}})
    done = necroscope("drift", one, same)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "no difference")
    done = necroscope("drift", one, other)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "no difference that is known to matter")


def groups(tmp_path: Path, count: int) -> list[str | Path]:
    for n in range(count):
        save(tmp_path / "good", f"g{n}", facts(is_broken=False))
        save(tmp_path / "bad", f"b{n}", facts(is_broken=True))
    return ["drift", "--group", f"failing={tmp_path}/bad", "--group", f"healthy={tmp_path}/good/*.json"]


def test_groups_of_folders_and_patterns(necroscope: Run, document: Document, tmp_path: Path) -> None:
    words = groups(tmp_path, 8)
    assert necroscope(*words).stdout.splitlines()[:2] == [
        "ecs.service runs in the failing group and not in the healthy one, "
        "because bootstrap step node-setup.service failed in the failing group (exit 1)",
        "bootstrap step node-setup.service failed (exit 1) in the failing group "
        "and succeeded in the healthy one",
    ]
    body = document(*words, exit_code=1)
    assert body["symptom"] == "failing"
    first = body["differences"][0]
    assert first["cannot_tell_apart_from"] == ["units/ecs.service/enabled", "site/motto"]
    assert first["p"] == pytest.approx(2 / 12870)
    assert first["interval"][0] > 1


def test_few_hosts_say_so(document: Document, necroscope: Run, tmp_path: Path) -> None:
    words = groups(tmp_path, 2)
    assert document(*words, exit_code=1)["note"].startswith("too few hosts to tell by counting")
    assert "too few hosts to tell by counting" in necroscope(*words).stdout


def test_the_symptom_can_be_chosen(document: Document, tmp_path: Path) -> None:
    words = groups(tmp_path, 8)
    assert document(*words, "--symptom", "healthy", exit_code=1)["symptom"] == "healthy"


def test_hosts_of_one_name_are_told_apart_by_their_files(document: Document, tmp_path: Path) -> None:
    one = save(tmp_path, "one", {"kernel": {"release": "6.1"}})
    two = save(tmp_path, "two", {"kernel": {"release": "6.2"}})
    for path in (one, two):
        path.write_text(json.dumps({**json.loads(path.read_text()), "host": "localhost"}))
    body = document("drift", one, two, exit_code=1)
    assert list(body["groups"]) == ["localhost (one)", "localhost (two)"]


def test_a_fleet(document: Document, necroscope: Run, tmp_path: Path) -> None:
    fleet = make_fleet(1001, Plan(pair="follows"))
    folders = write_fleet(fleet, tmp_path)
    words = [word for name, folder in folders.items() for word in ("--group", f"{name}={folder}")]
    body = document("drift", *words, exit_code=1)
    assert {row["fact"] for row in body["differences"][:3]} == {*fleet.causes}
    assert all(row["q"] < 0.05 for row in body["differences"][:3])
    short, long = necroscope("drift", *words).stdout, necroscope("drift", *words, "--all").stdout
    assert "more (--all)" in short
    assert "more (--all)" not in long and len(long) > len(short)


def test_stratify_takes_a_label_or_any_fact(document: Document, tmp_path: Path) -> None:
    words = groups(tmp_path, 8)
    assert document(*words, "--stratify", "site/motto", exit_code=1)["matter"]


def test_pairs_are_shown_however_incidental(necroscope: Run, tmp_path: Path) -> None:
    fleet = make_fleet(1002, Plan(pair="bystanders"))
    folders = write_fleet(fleet, tmp_path)
    shown = necroscope(
        "drift", *(word for name in folders for word in ("--group", f"{name}={folders[name]}"))
    ).stdout
    part = shown.partition("Cannot be told apart\n")[2].partition("\n\n")[0]
    ((one, other),) = fleet.pairs
    assert [line for line in part.splitlines() if one in line and other in line]


def test_one_is_one(necroscope: Run, tmp_path: Path) -> None:
    one, two = save(tmp_path, "a", {"site": {"x": "1"}}), save(tmp_path, "b", {"site": {"x": "2"}})
    shown = necroscope("drift", "--group", f"a={one}", "--group", f"b={two}").stdout
    assert "Compared b (1 host) with a (1): 1 fact, 0 differences that matter" in shown


def broken(tmp_path: Path) -> Path:
    folder = tmp_path / "some"
    save(folder, "a", {"site": {"x": "1"}})
    save(folder, "b", {"site": {"x": "2"}})
    (folder / "c.json").write_text("{")
    (folder / "d.json").write_bytes(b"\x00\xff" * 100)
    return folder


def test_a_bad_file_of_a_folder_is_left_out_and_said(document: Document, tmp_path: Path) -> None:
    body = document("drift", broken(tmp_path))
    assert [Path(row["path"]).name for row in body["unread"]] == ["c.json", "d.json"]
    assert list(body["groups"]) == ["a", "b"]


@pytest.mark.parametrize(
    "words, code, what",
    [
        (["{0}/c.json", "{0}/a.json"], 2, "c.json is not a snapshot"),
        (["{0}/nothing.json", "{0}/a.json"], 2, "nothing.json"),
        (["{0}/x*.json", "{0}/a.json"], 2, "no file is called"),
        (["{0}/a.json"], 3, "nothing to be compared with"),
        (["{0}/a.json", "{0}/a.json"], 3, "a.json is named twice"),
        ([], 2, "no snapshot is named"),
        (["--group", "one={0}"], 2, "one group"),
        (["--group", "one"], 2, "is not NAME=PATH"),
        (["--group", "one={0}/a.json", "--group", "two={0}/a.json"], 2, "in two groups"),
        (["--group", "one={0}/a.json", "--group", "two={0}/b.json", "--symptom", "x"], 2, "no group 'x'"),
        (["--group", "one={0}/a.json", "--group", "two={0}/b.json", "{0}/a.json"], 2, "not both"),
        (["--group", "one={0}/a.json", "--group", "two={0}/empty"], 3, "no snapshot in group two"),
        (["--symptom", "x", "{0}/a.json", "{0}/b.json"], 2, "--symptom"),
        (["--stratify", "x", "{0}/a.json", "{0}/b.json"], 2, "--stratify"),
        (["--group", "bad={0}/a.json", "--group", "failing={0}/b.json"], 2, "bad, failing"),
        (["--group", "one={0}/a.json", "--group", "two={0}/b.json", "--stratify", "y"], 2, "no snapshot has"),
    ],
)
def test_what_cannot_be_compared(
    necroscope: Run, tmp_path: Path, words: list[str], code: int, what: str
) -> None:
    folder = broken(tmp_path)
    (folder / "empty").mkdir()
    done = necroscope("drift", *(word.format(folder) for word in words))
    assert done.returncode == code
    assert what in done.stderr


def test_control_characters_do_not_reach_the_terminal(necroscope: Run, tmp_path: Path) -> None:
    one = save(tmp_path, "a", {"site": {"x\x1b[2J": "1\x1b[31m"}})
    two = save(tmp_path, "b", {"site": {"x\x1b[2J": "2"}})
    assert "\x1b" not in necroscope("drift", one, two).stdout


def test_long_values_are_told_apart(document: Document, tmp_path: Path) -> None:
    one = save(tmp_path, "a", {"site": {"x": "y" * 5000 + "1"}})
    two = save(tmp_path, "b", {"site": {"x": "y" * 5000 + "2"}})
    values: dict[str, Any] = document("drift", one, two)["differences"][0]["values"]
    assert len({name for counts in values.values() for name in counts}) == 2
    assert all(len(name) < 600 for counts in values.values() for name in counts)
