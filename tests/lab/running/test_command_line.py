"""python -m lab: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.running.command_line import main
from lab.running.needs import NEEDS, Need
from tests.lab.running.tiny_scenarios import call, make


def test_exit_codes(tmp_path: Path) -> None:
    make(tmp_path, "good", "stage.results['number'] = 1")
    make(tmp_path, "bad", "stage.results['number'] = 2")
    make(tmp_path, "broken", "raise OSError('gone')")
    code, said = call(tmp_path, "run", "good")
    assert code == 0 and "✓ it says one" in said and "✓ the machine is as it was before" in said, said
    code, said = call(tmp_path, "run", "bad")
    assert code == 1 and "✗ it says one: wanted: equals 1; seen: 2" in said, said
    code, said = call(tmp_path, "run", "broken")
    assert code == 1 and "✗ it ended early: OSError: gone (make.py:7)" in said, said
    code, said = call(tmp_path, "run", "absent")
    assert code == 2 and "no scenario absent; there are: bad, broken, good" in said
    assert call(tmp_path, "run", "good", "--without", "job")[0] == 2
    assert call(tmp_path, "run", "good", "--kernel", str(tmp_path / "none"))[0] == 2
    assert call(tmp_path, "run", "good", "--times", "0")[0] == 2
    assert call(tmp_path, "play")[0] == 2


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--times", "0"), "--times: one or more"),
        (("--without", "jib"), "no part jib; there are: none"),
        (("--kernel", "/none"), "no kernel /none"),
        (("--times-faster", "0"), "--times-faster: more than nothing"),
        (("--times-faster", "nan"), "--times-faster: more than nothing"),
    ],
)
def test_what_is_asked_of_all_is_looked_at_before_any_is_played(
    tmp_path: Path, words: tuple[str, ...], fault: str, capfd: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path, "good", f"Path({str(tmp_path / 'played')!r}).touch()")
    assert main(["all", *words, "--output", str(tmp_path / "out")], tmp_path / "scenarios") == 2
    assert fault in capfd.readouterr().err
    assert not (tmp_path / "played").exists()


def test_a_table_of_all_with_times(tmp_path: Path) -> None:
    make(tmp_path, "good", "stage.results['number'] = 1")
    make(tmp_path, "odd", "stage.results['number'] = int(stage.folder.name) % 2")
    code, said = call(tmp_path, "all", "--times", "3")
    assert code == 1
    rows = [line.split() for line in said.splitlines() if line.startswith(("good  ", "odd  "))]
    assert rows[0][:4] == ["good", "as", "expected", "3/3"], said
    assert rows[1][:5] == ["odd", "NOT", "as", "expected", "2/3"] and rows[1][-3:] == ["it", "says", "one"]
    assert sorted(path.name for path in (tmp_path / "out/odd").iterdir()) == ["1", "2", "3"]


def test_one_json_object_and_nothing_else_on_stdout(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path, "good", "stage.tell('hello')\nstage.results['number'] = 1")
    words = ["run", "good", "--json", "--output", str(tmp_path / "out")]
    assert main(words, tmp_path / "scenarios") == 0
    out, err = capfd.readouterr()
    body = json.loads(out)
    assert body["ok"] is True and body["exit_code"] == 0
    (outcome,) = body["outcomes"]
    assert outcome["as_expected"] is True and outcome["checks"][0]["seen"] == 1
    assert "hello" in err


def test_an_unfit_machine_is_neither_well_nor_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(NEEDS, "moon", Need("a moon", lambda: "it is new", "wait a week"))
    make(tmp_path, "lunar", "raise OSError", facts='needs = ["moon"]\nseconds = 1\n')
    make(tmp_path, "good", "stage.results['number'] = 1")
    words = ["--output", str(tmp_path / "out")]
    assert main(["run", "lunar", *words], tmp_path / "scenarios") == 3
    assert "moon: it is new (wait a week)" in capfd.readouterr().out
    assert main(["all", *words], tmp_path / "scenarios") == 3
    assert main(["list"], tmp_path / "scenarios") == 0
    said = capfd.readouterr().out
    assert "lunar needs moon: it is new (wait a week)" in said


def test_a_folder_of_somebody_else_is_not_emptied(tmp_path: Path) -> None:
    make(tmp_path, "good", "stage.results['number'] = 1")
    precious = tmp_path / "out/good/precious"
    precious.parent.mkdir(parents=True)
    precious.touch()
    code, said = call(tmp_path, "run", "good")
    assert code == 2 and "is not the folder of a run" in said
    assert precious.exists()
    make(tmp_path, "early", f"Path({str(tmp_path / 'played')!r}).touch()")
    assert call(tmp_path, "all")[0] == 2
    assert precious.exists() and not (tmp_path / "played").exists()


def test_a_folder_that_cannot_be_emptied_any_more_costs_no_other_outcome(tmp_path: Path) -> None:
    late = tmp_path / "out/late"
    body = f"Path({str(late)!r}).mkdir()\nPath({str(late)!r}, 'x').touch()\nstage.results['number'] = 1"
    make(tmp_path, "early", body)
    make(tmp_path, "late", "stage.results['number'] = 1")
    code, said = call(tmp_path, "all")
    assert code == 1 and "early: as expected" in said, said
    assert "late: NOT as expected" in said and "is not the folder of a run" in said


def test_the_seconds_that_are_told_are_those_of_a_shortened_soak(tmp_path: Path) -> None:
    facts = "needs = []\nseconds = 3660\nsoak_seconds = 3600\n"
    make(tmp_path, "long", "stage.results['number'] = 1", facts=facts)
    assert "about 3660 s" in call(tmp_path, "run", "long")[1]
    assert "about 240 s" in call(tmp_path, "all")[1]
    assert "about 420 s" in call(tmp_path, "run", "long", "--times-faster", "10")[1]
