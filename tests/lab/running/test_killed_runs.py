"""What a run that was killed has left: removed by the next one, if that is the only one at work."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.faults.zombies import why_not
from lab.recorders import wait_until
from lab.running import killed_runs
from lab.running.differences import Before
from lab.running.killed_runs import clean_after_killed_runs, noted
from lab.running.machine_state import NOTE, read_machine_state
from lab.running.processes import read_process
from tests.lab.running.tiny_scenarios import call, make, start

WHY_NO_CGROUPS = why_not()
LEFT = f"lab-killed-{os.getpid()}"
# Notes of its own, and nothing removed but what the test made: others may be at work on this machine.
ALONE = """
import re
from lab.running import killed_runs
killed_runs.NOTES = Path({notes!r})
killed_runs.LAB_MADE = re.compile("lab" "-killed-{pid}")  # in two parts: a name in a command line is in use
killed_runs._others_at_work = lambda living: "another run" if living else ""
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for notes that only this test uses."""
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setattr(killed_runs, "NOTES", folder)
    return folder


@pytest.fixture
def left() -> Iterator[Path]:
    """A folder with a name of the lab, as a killed run leaves it."""
    folder = Path("/dev/shm", LEFT)
    folder.mkdir()
    yield folder
    if folder.exists():
        folder.rmdir()


@contextmanager
def runner() -> Iterator[str]:
    """The mark of a runner that lives, as far as anybody can tell."""
    with subprocess.Popen(["sleep", "100"]) as process:
        one = read_process(process.pid)
        assert one
        try:
            yield f"{one.pid}-{one.start_ticks}"
        finally:
            process.kill()


def write_note(notes: Path, mark: str, text: str) -> Path:
    path = notes / f"{NOTE}{mark}.json"
    path.write_text(text)
    return path


def objects_before(left: Path) -> str:
    return json.dumps(sorted(read_machine_state().objects - {f"file {left}"}))


@pytest.mark.skipif(WHY_NO_CGROUPS is not None, reason=str(WHY_NO_CGROUPS))
def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    folder, playing = Path("/dev/shm", LEFT), tmp_path / "playing"
    cgroup = Path("/sys/fs/cgroup/memory", LEFT)
    body = f"""
os.makedirs({str(cgroup / "payload")!r})
os.mkdir({str(folder)!r})
Path({str(folder)!r}, "page").touch()
sleeper = subprocess.Popen(["setsid", "sleep", "79"], stdout=-3, stderr=-3)
Path({str(playing)!r}).write_text(str(sleeper.pid))
time.sleep(60)
"""
    make(tmp_path, "killed", body)
    make(tmp_path, "next", "stage.results['number'] = 1")
    (tmp_path / "notes").mkdir()
    alone = ALONE.format(notes=str(tmp_path / "notes"), pid=os.getpid())
    process = start(tmp_path, "run", "killed", first=alone)
    wait_until(lambda: playing.exists() and playing.read_text(), 30, "the play")
    sleeper = int(playing.read_text())
    process.kill()
    process.communicate()
    assert folder.exists() and Path(f"/proc/{sleeper}").exists()
    code, said = call(tmp_path, "run", "next", first=alone)
    assert "a run was killed" in said and f"removed: file {folder}" in said, said
    assert f"removed: cgroup {cgroup}\n" in said and "payload" not in said
    assert not folder.exists() and not cgroup.exists()
    wait_until(lambda: not is_asleep(sleeper), 5, "the end of what it started")
    assert list((tmp_path / "notes").iterdir()) == []
    assert code == 0, said


def test_while_another_run_is_at_work_things_are_only_named(notes: Path, left: Path) -> None:
    told: list[str] = []
    note = write_note(notes, "1-1", objects_before(left))
    with runner() as mark:
        living = write_note(notes, mark, "[]")
        clean_after_killed_runs(told.append)
        assert f"  left for now (another run is at work): file {left}" in told
        assert left.exists() and note.exists() and living.exists()


def test_while_tests_are_at_work_things_are_only_named(notes: Path, left: Path) -> None:
    told: list[str] = []
    note = write_note(notes, "1-1", objects_before(left))
    with subprocess.Popen(["sh", "-c", "read line; exit", "pytest"], stdin=subprocess.PIPE):
        clean_after_killed_runs(told.append)
    assert f"  left for now (tests are at work): file {left}" in told
    assert left.exists() and note.exists()


def test_a_note_that_cannot_be_read_removes_nothing_and_stops_nobody(notes: Path, left: Path) -> None:
    told: list[str] = []
    note = write_note(notes, "1-1", '["mount /", "cgr')
    clean_after_killed_runs(told.append)
    assert any("nothing is removed" in line for line in told)
    assert left.exists()
    note.unlink(missing_ok=True)


def test_a_note_is_whole_and_its_loss_is_no_failure(notes: Path, tmp_path: Path) -> None:
    before = Before(read_machine_state(), "1-1", tmp_path)
    with noted(before):
        (note,) = notes.iterdir()
        assert set(json.loads(note.read_text())) == before.state.objects
        note.unlink()
    assert list(notes.iterdir()) == []


def test_notes_of_runs_are_no_objects_of_the_machine() -> None:
    note = Path("/tmp", f"{NOTE}1-{os.getpid()}.json")
    note.touch()
    try:
        assert not [words for words in read_machine_state().objects if note.name in words]
    finally:
        note.unlink()


def is_asleep(pid: int) -> bool:
    one = read_process(pid)
    return one is not None and "sleep" in one.command
