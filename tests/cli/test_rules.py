"""Files for other tools: what is printed, what is written, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from necroscope.cli.rules import DOCS, KINDS
from tests.cli.conftest import Document, Run

KIND, FILE = "prometheus", "necroscope.rules.yaml"


def test_the_first_file_is_printed(necroscope: Run) -> None:
    done = necroscope("rules", KIND)
    assert done.returncode == 0
    assert yaml.safe_load(done.stdout)["groups"]


def test_help_names_every_kind(necroscope: Run) -> None:
    text = "".join(necroscope("rules", "--help").stdout.split())
    assert all(f"{kind}:" in text for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_files_and_json_has_them(kind: str, document: Document) -> None:
    files = document("rules", kind)["files"]
    assert files
    assert all(file["name"] and file["text"].endswith("\n") for file in files)


def test_all_files_of_all_kinds_are_written(tmp_path: Path, document: Document) -> None:
    body = document("rules", ",".join(KINDS), "-o", tmp_path / "new/rules")
    for file in body["files"]:
        assert (tmp_path / "new/rules" / file["name"]).read_text() == file["text"]


def test_runbook_links_lead_where_asked(document: Document) -> None:
    text = document("rules", KIND, "--docs", "https://wiki.example/necroscope/")["files"][0]["text"]
    assert "https://wiki.example/necroscope/alerts.md#necroscopezombiegrowth" in text
    assert DOCS not in text


@pytest.mark.parametrize("docs", ["", 'https://x"y', "https://x y", "https://x\\y", "https://x\ny"])
def test_a_link_that_would_break_the_files_is_refused(docs: str, document: Document) -> None:
    error = document("rules", KIND, "--docs", docs, exit_code=2)["error"]
    assert "is not a URL" in error["what"]


@pytest.mark.parametrize("kinds", ["nagios", "", "prometheus,", "prometheus,nagios"])
def test_an_unknown_kind_is_refused_with_those_there_are(kinds: str, document: Document) -> None:
    error = document("rules", kinds, exit_code=2)["error"]
    assert error["slug"] == "usage"
    assert "prometheus-operator" in error["hint"]


def test_several_kinds_want_a_folder_or_json(necroscope: Run, document: Document) -> None:
    done = necroscope("rules", "prometheus,prometheus-operator")
    assert (done.returncode, done.stdout) == (2, "")
    assert "-o DIR says where to" in done.stderr
    assert len(document("rules", "prometheus,prometheus-operator")["files"]) == 2


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path, document: Document) -> None:
    (tmp_path / "file").write_text("mine")
    error = document("rules", KIND, "-o", tmp_path / "file", exit_code=2)["error"]
    assert error["hint"] == "-o names a folder"
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_refused(document: Document) -> None:
    error = document("rules", KIND, "-o", "/proc/self/rules", exit_code=2)["error"]
    assert error["what"].startswith("/proc/self/rules: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_others_is_refused(tmp_path: Path, document: Document) -> None:
    tmp_path.chmod(0o500)
    error = document("rules", KIND, "-o", tmp_path, exit_code=2)["error"]
    assert error["what"] == f"{tmp_path / FILE}: Permission denied"


def test_a_name_too_long_is_refused(tmp_path: Path, document: Document) -> None:
    error = document("rules", KIND, "-o", tmp_path / ("x" * 300), exit_code=2)["error"]
    assert error["what"].endswith(": File name too long")


def test_nothing_is_written_over_and_then_nothing_at_all(tmp_path: Path, document: Document) -> None:
    old = tmp_path / "necroscope-prometheusrule.yaml"
    old.write_text("mine")
    words = ("rules", "prometheus,prometheus-operator", "-o", tmp_path)
    assert document(*words, exit_code=2)["error"]["hint"] == "-f overwrites it"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {old.name: "mine"}
    document(*words, "-f")
    assert {path.name for path in tmp_path.iterdir()} == {old.name, FILE}
    assert "PodMonitor" in old.read_text()
