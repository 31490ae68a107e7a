"""What a scenario has: a recorder that ends with it, and answers of the program."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from lab.recorders import RecorderError, segments_of, wait_until, why_not, works_on
from lab.running.stage import AskError, Stage

REASON = why_not()
needs_recorder = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@needs_recorder
def test_a_recorder_has_begun_and_ends_in_the_end(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path)
    with stage.recording("--rate", "49") as one:
        assert one.is_recording(samples=True)
        time.sleep(2)
    assert one.process.returncode in (0, 1)
    assert works_on(stage.store) == set()
    assert [segment.has_profile for segment in segments_of(stage.store)] == [True]
    assert stage.ask("timeline")["ok"] is True
    assert "core" in stage.show("timeline")


@needs_recorder
def test_a_recorder_ends_with_a_play_that_fails(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path)
    with pytest.raises(ZeroDivisionError), stage.recording("--rate", "0", samples=False):
        raise ZeroDivisionError
    assert works_on(stage.store) == set()


@needs_recorder
def test_what_a_killed_recorder_started_ends_and_a_person_who_looks_does_not(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path)
    with (
        subprocess.Popen(["sh", "-c", "read line", str(stage.store)], stdin=subprocess.PIPE) as early,
        pytest.raises(RecorderError),
        stage.recording("--rate", "49") as one,
        subprocess.Popen(["sh", "-c", "read line", str(stage.store)], stdin=subprocess.PIPE) as person,
    ):
        perf = one.child("record")
        one.kill()
        raise RecorderError
    assert (early.returncode, person.returncode) == (1, 1), "ended by themselves, at the end of their input"
    assert perf and works_on(stage.store) == set()


def test_what_did_not_come_is_told_as_it_is_in_the_end() -> None:
    said: list[str] = []

    def look() -> bool:
        said.append("more")
        return False

    with pytest.raises(TimeoutError, match=r"^(more ){3,}: not within 0.2 s"):
        wait_until(look, 0.2, lambda: " ".join([*said, ""]))


@needs_recorder
def test_a_recorder_that_dies_is_no_success(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path)
    with pytest.raises(RecorderError), stage.recording("--rate", "0", samples=False) as one:
        one.kill()


def test_an_answer_with_another_exit_code_is_an_error_with_what_was_said(tmp_path: Path) -> None:
    with pytest.raises(AskError, match=r"necroscope events ended with [23]: "):
        Stage(folder=tmp_path).ask("events")


def test_a_gauge_is_shown_as_long_as_it_is_there(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path)
    with stage.gauge("job", lambda: "step 1"):
        assert {name: read() for name, read in stage.gauges.items()} == {"job": "step 1"}
    assert stage.gauges == {}
