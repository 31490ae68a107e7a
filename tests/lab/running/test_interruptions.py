"""Signals from outside, at every stage of a run: all that was made is undone."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lab.recorders import wait_until
from tests.lab.running.tiny_scenarios import make, start

WITH_FOLDER = """
@contextmanager
def folder():
    path = Path({path!r})
    path.mkdir()
    try:
        yield
    finally:
        Path({undoing!r}).touch()
        time.sleep({slow})
        path.rmdir()
with folder():
    Path({playing!r}).touch()
    time.sleep({seconds})
stage.results["number"] = 1
time.sleep({after})
"""


def scene(top: Path, *, slow: float = 0, seconds: float = 60, after: float = 0) -> dict[str, Path]:
    """A scenario that makes a folder, plays, and removes it."""
    paths = {name: top / name for name in ("path", "playing", "undoing")}
    names = {name: str(path) for name, path in paths.items()}
    make(top, "folder", WITH_FOLDER.format(**names, slow=slow, seconds=seconds, after=after))
    return paths


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_play_ends_in_the_same_undo(tmp_path: Path, number: signal.Signals) -> None:
    paths = scene(tmp_path)
    process = start(tmp_path, "run", "folder")
    wait_until(paths["playing"].exists, 30, "the play")
    process.send_signal(number)
    code, said = end(process)
    assert code == 130, said
    assert f"interrupted by {number.name}" in said and f"{number.name}: undoing; please wait" in said
    assert paths["undoing"].exists() and not paths["path"].exists()


def test_more_signals_while_undoing_do_not_break_it(tmp_path: Path) -> None:
    paths = scene(tmp_path, slow=1.5)
    process = start(tmp_path, "run", "folder")
    wait_until(paths["playing"].exists, 30, "the play")
    process.send_signal(signal.SIGINT)
    wait_until(paths["undoing"].exists, 10, "the undo")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        process.send_signal(number)
        time.sleep(0.3)
    code, said = end(process)
    assert code == 130, said
    assert said.count("undoing; please wait") == 4
    assert not paths["path"].exists()


def test_a_first_signal_during_an_undo_waits_for_it_and_then_ends_the_play(tmp_path: Path) -> None:
    paths = scene(tmp_path, seconds=0, slow=1.5, after=60)
    process = start(tmp_path, "run", "folder")
    wait_until(paths["undoing"].exists, 30, "the undo")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    code, said = end(process)
    assert code == 130, said
    assert not paths["path"].exists()
    assert time.monotonic() - began < 30


def test_a_signal_while_something_is_being_made_waits_until_it_can_be_undone(tmp_path: Path) -> None:
    made = tmp_path / "made"
    body = f"""
@contextmanager
def folder():
    path = Path({str(made)!r})
    path.mkdir()
    time.sleep(2)
    try:
        yield
    finally:
        path.rmdir()
with folder():
    time.sleep(60)
"""
    make(tmp_path, "slow", body)
    process = start(tmp_path, "run", "slow")
    wait_until(made.exists, 30, "the folder")
    process.send_signal(signal.SIGTERM)
    code, said = end(process)
    assert code == 130, said
    assert not made.exists()


def test_no_scenario_follows_one_that_was_interrupted(tmp_path: Path) -> None:
    paths = scene(tmp_path)
    make(tmp_path, "next", f"Path({str(tmp_path / 'next')!r}).touch()")
    process = start(tmp_path, "all", "--times", "2")
    wait_until(paths["playing"].exists, 30, "the play")
    process.send_signal(signal.SIGINT)
    assert end(process)[0] == 130
    assert not (tmp_path / "next").exists()


@pytest.mark.parametrize("undoing", [False, True])
def test_a_terminal_that_is_closed_does_not_cut_the_undo(tmp_path: Path, undoing: bool) -> None:
    paths = scene(tmp_path, seconds=0 if undoing else 60, slow=1.5, after=60)
    leader, follower = pty.openpty()
    process = start(tmp_path, "run", "folder", stdout=follower)
    os.close(follower)
    wait_until(paths["undoing" if undoing else "playing"].exists, 30, "the moment")
    os.close(leader)  # every write to the terminal fails from now on
    process.send_signal(signal.SIGHUP)
    process.wait(timeout=60)
    assert process.returncode == 130
    assert paths["undoing"].exists() and not paths["path"].exists()
    assert "SIGHUP: undoing" in (tmp_path / "out/folder/transcript.txt").read_text()
    assert (tmp_path / "out/folder/outcome.json").exists()


def test_a_reader_that_has_gone_ends_nothing(tmp_path: Path) -> None:
    paths = scene(tmp_path, seconds=1)
    process = start(tmp_path, "run", "folder")
    assert process.stdout
    process.stdout.close()  # as by `| head`
    process.wait(timeout=60)
    assert process.returncode == 0
    assert paths["undoing"].exists() and not paths["path"].exists()
