"""The file is whole or not there, and an error is told and got over."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from necroscope.exporter.textfile import Textfile

TEXT = "necroscope_cores 2\n"


def wait_until(condition: Callable[[], object], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.005)


def test_it_is_there_at_once_for_all_to_read_and_gone_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.prom"
    before = os.umask(0o077)
    try:
        textfile = Textfile(path, lambda: TEXT)
    finally:
        os.umask(before)
    assert path.read_text() == TEXT
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.prom"]
    textfile.close()
    assert not list(tmp_path.iterdir())


def test_it_is_written_again_and_again(tmp_path: Path) -> None:
    path, turns = tmp_path / "a.prom", iter(range(10**6))
    textfile = Textfile(path, lambda: f"turn {next(turns)}\n", every_seconds=0.01)
    wait_until(lambda: path.read_text() >= "turn 3\n", 10, "the fourth turn")
    textfile.close()
    assert not path.exists()


def test_whoever_reads_meets_all_of_it(tmp_path: Path) -> None:
    path, letters = tmp_path / "a.prom", iter("abcdefgh" * 10**5)
    textfile = Textfile(path, lambda: next(letters) * 200_000, every_seconds=0.0)
    inodes = set()
    for _ in range(300):
        with path.open() as file:
            text = file.read()
            inodes.add(os.fstat(file.fileno()).st_ino)
        assert len(text) == 200_000 and len(set(text)) == 1
    textfile.close()
    assert len(inodes) > 1, "it was replaced meanwhile"


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.write_text("")])
def test_a_folder_that_is_not_there_or_none_is_an_error_at_the_start(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    make(tmp_path / "folder")
    with pytest.raises((FileNotFoundError, NotADirectoryError)):
        Textfile(tmp_path / "folder/a.prom", lambda: TEXT)
    assert not [thread for thread in threading.enumerate() if thread.name == "textfile"]


def test_an_error_on_the_way_is_told_and_got_over(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    textfile = Textfile(folder / "a.prom", lambda: TEXT, every_seconds=0.01)
    folder.rename(tmp_path / "away")
    wait_until(lambda: textfile.error, 10, "an error")
    assert textfile.error == f"{folder}/a.prom: No such file or directory"
    (tmp_path / "away").rename(folder)
    wait_until(lambda: not textfile.error, 10, "no error")
    textfile.close()
    assert not list(folder.iterdir())


def test_it_is_not_written_through_a_link_that_somebody_laid(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("keep")
    (tmp_path / ".a.prom.partial").symlink_to(secret)
    (tmp_path / "a.prom").symlink_to(secret)
    textfile = Textfile(tmp_path / "a.prom", lambda: TEXT)
    assert secret.read_text() == "keep"
    assert (tmp_path / "a.prom").read_text() == TEXT
    textfile.close()


def test_a_disk_that_hangs_does_not_hold_up_the_end_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go, hanging = threading.Event(), threading.Event()
    turns = iter([TEXT])

    def render() -> str:
        if text := next(turns, ""):
            return text
        hanging.set()
        let_go.wait(30)
        return TEXT

    monkeypatch.setattr("necroscope.exporter.textfile.END_SECONDS", 0.1)
    textfile = Textfile(tmp_path / "a.prom", render, every_seconds=0.01)
    assert hanging.wait(10)
    textfile.close()
    let_go.set()
    wait_until(lambda: not (tmp_path / "a.prom").exists(), 10, "the file is removed late")
