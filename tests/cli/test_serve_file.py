"""`serve -o FILE`: one file, of the range that the words mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.server.one_file import page_file
from tests.cli.conftest import Document, Run
from tests.server.one_file.built_page import built_page, embedded
from tests.server.questions.sampled_store import BEGIN_US, sampled_store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(page_file, "STATIC", built_page(tmp_path / "static"))
    sampled_store(tmp_path / "store")
    return tmp_path / "store"


def test_it_writes_all_that_there_is(document: Document, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    body = document("serve", "--store", store, "-o", file)
    content = file.read_bytes()
    assert (body["written"], body["bytes"], body["host"]) == (str(file), len(content), "node-17")
    assert body["left_out"] and embedded(content)['["hosts"]']["hosts"][0]["begin_us"] == BEGIN_US


def test_a_range(necroscope: Run, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    words = ("-b", "2026-04-15T10:00:30Z", "-e", "2026-04-15T10:01:00Z", "--host", "node-17")
    done = necroscope("serve", "--store", store, "-o", file, *words)
    assert done.returncode == 0 and "node-17, from 2026-04-15T10:00:30" in " ".join(done.stdout.split())
    assert f'["diagnosis",{BEGIN_US + 30_000_000},{BEGIN_US + 60_000_000}]' in embedded(file.read_bytes())


def test_a_file_is_not_overwritten_unless_told(necroscope: Run, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("mine")
    assert necroscope("serve", "--store", store, "-o", file).returncode == 2 and file.read_text() == "mine"
    assert necroscope("serve", "--store", store, "-o", file, "-f").returncode == 0


def test_what_cannot_be_written_is_said(
    necroscope: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.html"
    assert necroscope("serve", "--store", tmp_path / "none", "-o", file).returncode == 3
    monkeypatch.setattr(page_file, "STATIC", tmp_path / "not-built")
    done = necroscope("serve", "--store", store, "-o", file)
    assert done.returncode == 2 and "make web" in done.stderr and not file.exists()
