"""`necroscope fleet ingest` as a user calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from necroscope.cli.main import main
from necroscope.fleet.place.folder import FolderPlace
from tests.fleet.tables.shipped import BEGIN_US, MINUTE_US, inbox, put_segment, rows_of


@pytest.fixture
def place(tmp_path: Path) -> FolderPlace:
    return FolderPlace(tmp_path)


def test_the_document(place: FolderPlace, capsys: pytest.CaptureFixture[str]) -> None:
    put_segment(place, "a", resets=2)
    place.write("hosts/b/inbox/x-0123456789abcdef.json", b"{}")
    assert main(["fleet", "ingest", "--fleet", str(place.root), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"verb": "fleet", "question": "ingest", "ok": True, "parts": 1}.items() <= document.items()
    assert document["added"] == {"segments": 1, "events": 2}
    assert list(document["rejected"]) == ["hosts/b/inbox/x-0123456789abcdef.json"]
    assert document["removed"] == {"parts": 1, "hours": 0, "files": 0, "blobs": 0}
    assert document["hours_written"] == 2
    assert document["seconds"] > 0


def test_the_text(
    place: FolderPlace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    put_segment(place, "a", synchronised=False)
    for number in range(7):
        place.write(f"hosts/b/inbox/{number}-0123456789abcdef.json", b"{}")
    assert main(["fleet", "ingest", "--fleet", str(place.root), "--keep", "10d"]) == 0
    text = capsys.readouterr().out
    assert "1 parts in" in text
    assert "clock is in doubt: a" in " ".join(text.split())
    assert "and 2 more" in text
    assert "1 old hours dropped" in text
    assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize(
    "words", [["--every", "0s"], ["--keep", "1h"], ["--keep", "x"], ["--fleet", "ftp://x"]]
)
def test_words_that_make_no_sense(place: FolderPlace, words: list[str]) -> None:
    assert main(["fleet", "ingest", "--fleet", str(place.root), *words]) == 2


def test_a_place_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "ingest", "--fleet", str(tmp_path / "nowhere")]) == 3
    assert "is not there" in capsys.readouterr().err


def test_again_and_again_until_it_is_stopped(place: FolderPlace) -> None:
    words = [
        sys.executable,
        "-m",
        "necroscope",
        "fleet",
        "ingest",
        "--fleet",
        str(place.root),
        "--every",
        "1s",
    ]
    process = subprocess.Popen([*words, "--json"], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        for number in range(2):
            put_segment(place, "a", BEGIN_US + number * MINUTE_US)
            end = time.monotonic() + 60
            while inbox(place) and time.monotonic() < end:
                time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert json.loads(output)["question"] == "ingest"
    assert len(rows_of(place, "segments")) == 2
    assert not list(place.below("ingest/"))
