"""Sealing children: one at a time, and tried again until they succeed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from necroscope.recording import sealer as sealer_module
from necroscope.recording.sealer import Sealer

Make = Callable[[str], Sealer]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A sealer whose child is a shell script; $1 is the folder, `calls` gets a line for every child."""

    def make_one(script: str) -> Sealer:
        path = tmp_path / "child.sh"
        path.write_text(f'echo "$1" >>"{tmp_path}/calls"\n{script}\n')
        return Sealer(["sh", str(path)])

    return make_one


def calls(tmp_path: Path) -> list[str]:
    return [Path(line).name for line in (tmp_path / "calls").read_text().splitlines()]


def test_segments_are_sealed_one_after_the_other(tmp_path: Path, make: Make) -> None:
    sealer = make("""echo '{"cpu_seconds": 0.25, "store_bytes": 7000}'""")
    for name in "abc":
        sealer.add(tmp_path / name)
    assert sealer.waiting == 3
    sealer.drain(10)
    assert calls(tmp_path) == ["a", "b", "c"]
    assert (sealer.sealed, sealer.waiting, sealer.error, sealer.child_pid) == (3, 0, "", None)
    assert (sealer.cpu_seconds, sealer.store_bytes) == (0.75, 7000)


def test_what_a_child_said_is_handed_on_once(tmp_path: Path, make: Make) -> None:
    sealer = make("""echo '{"state": {"a": 1}}'; case "$1" in *bad) exit 2;; esac""")
    assert sealer.answer() is None
    sealer.add(tmp_path / "good")
    sealer.drain(10)
    assert sealer.answer() == {"state": {"a": 1}}
    assert sealer.answer() is None
    sealer.add(tmp_path / "bad")
    sealer.drain(10)
    assert sealer.answer() is None, "it has failed"


def test_a_tick_never_waits_and_there_is_one_child_at_a_time(tmp_path: Path, make: Make) -> None:
    sealer = make("sleep 0.3; echo '{}'")
    for name in "ab":
        sealer.add(tmp_path / name)
    begin = time.monotonic()
    sealer.tick()
    pid = sealer.child_pid
    sealer.tick()
    assert time.monotonic() - begin < 0.25
    assert pid and sealer.child_pid == pid
    sealer.drain(10)
    assert calls(tmp_path) == ["a", "b"]


def test_nothing_to_do_is_no_child(make: Make) -> None:
    sealer = make("exit 1")
    sealer.tick()
    sealer.drain(10)
    assert (sealer.child_pid, sealer.sealed, sealer.error) == (None, 0, "")


def test_one_that_cannot_be_sealed_is_tried_again_later_and_does_not_hold_up_the_next(
    tmp_path: Path, make: Make
) -> None:
    failing = """echo '{"ok": false, "error": {"what": "no room"}}'; exit 2"""
    sealer = make(f"""case "$1" in *bad) {failing};; esac; echo '{{}}'""")
    sealer.add(tmp_path / "bad")
    sealer.add(tmp_path / "good")
    sealer.drain(10)
    assert calls(tmp_path) == ["bad", "good"]
    assert (sealer.sealed, sealer.waiting) == (1, 1)
    sealer.drain(10)
    assert calls(tmp_path) == ["bad", "good", "bad"], "at the end everything gets one more chance"
    assert sealer.error == "no room"


def test_between_two_attempts_there_is_a_pause_that_grows(tmp_path: Path, make: Make) -> None:
    sealer = make("exit 1")
    sealer.add(tmp_path / "a")
    end = time.monotonic() + 2.2
    while time.monotonic() < end:
        sealer.tick()
        time.sleep(0.01)
    assert len(calls(tmp_path)) == 2, "at once, after 1 s, and then after 2 s more"


def test_a_child_that_is_killed_is_started_again(tmp_path: Path, make: Make) -> None:
    sealer = make(
        f"""[ -e "{tmp_path}/again" ] && echo '{{}}' && exit; touch "{tmp_path}/again"; kill -9 $$"""
    )
    sealer.add(tmp_path / "a")
    sealer.drain(10)
    sealer.drain(10)
    assert calls(tmp_path) == ["a", "a"]
    assert (sealer.sealed, sealer.error) == (1, "")


def test_the_death_of_a_child_is_told(tmp_path: Path, make: Make) -> None:
    sealer = make("kill -9 $$")
    sealer.add(tmp_path / "a")
    sealer.drain(10)
    assert (sealer.sealed, sealer.error) == (0, f"the sealing child ended with {-signal.SIGKILL}")


@pytest.mark.parametrize("answer", ["", "no JSON", "{", "[]", '{"error": null}'])
def test_a_child_that_did_its_work_and_says_nothing_of_use_is_believed(
    tmp_path: Path, make: Make, answer: str
) -> None:
    sealer = make(f"printf %s '{answer}'")
    sealer.store_bytes = 5
    sealer.add(tmp_path / "a")
    sealer.drain(10)
    assert (sealer.sealed, sealer.store_bytes, sealer.cpu_seconds) == (1, 5, 0.0)


def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    sealer = Sealer([str(tmp_path / "no such command")])
    sealer.add(tmp_path / "a")
    sealer.drain(10)
    assert (sealer.waiting, sealer.sealed) == (1, 0)
    assert "No such file" in sealer.error


def test_a_child_that_is_stuck_is_ended(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealer_module, "STUCK_SECONDS", 0.05)
    sealer = make("exec sleep 60")
    sealer.add(tmp_path / "a")
    end = time.monotonic() + 10
    while not sealer.error and time.monotonic() < end:
        sealer.tick()
        time.sleep(0.01)
    assert calls(tmp_path) == ["a"]


def test_draining_ends_in_time_with_a_child_that_does_not(tmp_path: Path, make: Make) -> None:
    sealer = make("exec sleep 2")
    sealer.add(tmp_path / "a")
    begin = time.monotonic()
    sealer.drain(0.2)
    assert time.monotonic() - begin < 1.5
    assert (sealer.waiting, sealer.sealed) == (1, 0)
