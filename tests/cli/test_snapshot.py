"""The verb: to stdout, to a file, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from necroscope.cli.main import main
from necroscope.inventory.snapshot import read_snapshot

HOST = Path(__file__).parents[1] / "hosts/debian-6.1-v2"
ROOT = ["snapshot", "--root", str(HOST)]


def test_the_file_goes_to_stdout(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(ROOT) == 0
    printed = capsys.readouterr().out
    assert main([*ROOT, "-o", str(tmp_path / "a.json")]) == 0
    assert (tmp_path / "a.json").read_text() == printed
    assert printed.endswith("}\n")
    document = json.loads(printed)
    assert list(document) == ["facts", "host", "kind", "not_read", "schema"]
    assert (document["schema"], document["kind"], document["host"]) == (1, "necroscope-snapshot", "node-v2")


def test_json_has_the_envelope(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([*ROOT, "--json"]) == 0
    printed = capsys.readouterr().out
    body = json.loads(printed)
    assert (body["schema"], body["verb"], body["ok"]) == (1, "snapshot", True)
    assert body["snapshot"]["facts"]["cgroups"]["layout"] == "v2"
    (tmp_path / "envelope.json").write_text(printed)
    assert read_snapshot(tmp_path / "envelope.json").host == "node-v2"


def test_a_file_is_written_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert main([*ROOT, "-o", str(path)]) == 0
    said = capsys.readouterr().out
    assert f"{path}: " in said
    assert "facts about node-v2" in said.replace("\n", " ")
    assert "packages: no package database" in said
    assert "memory: not running" in said or "clock: not running" in said
    assert main([*ROOT, "-o", str(path)]) == 2
    assert "-f overwrites it" in capsys.readouterr().err
    path.write_text("old")
    assert main([*ROOT, "-o", str(path), "-f"]) == 0
    assert read_snapshot(path).host == "node-v2"


def test_what_cannot_be_written_or_read_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([*ROOT, "-o", str(tmp_path / "none/a.json")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["snapshot", "--root", str(tmp_path)]) == 3
    assert "could be read" in capsys.readouterr().err
    assert main([*ROOT, "--labels", str(tmp_path / "none")]) == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labels", '# mine\nteam=blue\nrack = "7"\n'),
        ("labels.toml", 'team = "blue"\nrack = 7\n'),
        ("labels.json", '{"team": "blue", "rack": 7}'),
        ("labels.yaml", "team: blue\nrack: 7\n"),
    ],
)
def test_labels(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert main([*ROOT, "--labels", str(tmp_path / name)]) == 0
    labels = json.loads(capsys.readouterr().out)["facts"]["labels"]
    assert (labels["team"], labels["rack"]) == ("blue", "7")


@pytest.mark.parametrize("text", ["no equals sign\n", "=x\n", "{cut"])
def test_bad_labels(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    (tmp_path / "labels").write_text(text)
    assert main([*ROOT, "--labels", str(tmp_path / "labels")]) == 2
    assert "labels" in capsys.readouterr().err
