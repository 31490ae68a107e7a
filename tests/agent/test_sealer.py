"""Sealing children: one at a time, and tried again until they succeed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from necroscope.agent import sealer as sealer_module
from necroscope.agent.sealer import (
    MAX_MEMORY_BYTES,
    OTHERS_BYTES,
    Sealer,
    read_own_memory_limit,
    seal_memory_bytes,
    stuck_seconds,
)
from necroscope.sources.host import Host
from necroscope.store.config import RecordSettings
from tests.sources.conftest import write_tree

Make = Callable[[str], Sealer]
MOUNT = "/sys/fs/cgroup"
V1 = f"30 23 0:26 / {MOUNT}/memory rw - cgroup cgroup rw,memory\n"
V2 = f"30 23 0:26 / {MOUNT} rw - cgroup2 cgroup2 rw\n"
NONE = "9223372036854771712\n"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A sealer whose child is a shell script; $1 is the folder, `calls` gets a line for every child.

    In a child that is to do with less, $1 is the option and $2 says what.
    """

    def make_one(script: str) -> Sealer:
        path = tmp_path / "child.sh"
        path.write_text(f'echo "$1" >>"{tmp_path}/calls"\n{script}\n')
        return Sealer(["sh", str(path)], 120.0)

    return make_one


def calls(tmp_path: Path) -> list[str]:
    path = tmp_path / "calls"
    return [Path(line).name for line in path.read_text().splitlines()] if path.exists() else []


def test_segments_are_sealed_one_after_the_other(tmp_path: Path, make: Make) -> None:
    sealer = make("""echo '{"cpu_seconds": 0.25, "store_bytes": 7000}'""")
    for name in "abc":
        sealer.add(tmp_path / name)
    assert sealer.waiting == 3
    sealer.drain(10)
    assert calls(tmp_path) == ["a", "b", "c"]
    assert (sealer.sealed, sealer.waiting, sealer.error, sealer.job.pid) == (3, 0, "", None)
    assert (sealer.job.cpu_seconds, sealer.store_bytes) == (0.75, 7000)


def test_a_tick_never_waits_and_there_is_one_child_at_a_time(tmp_path: Path, make: Make) -> None:
    sealer = make("sleep 2; echo '{}'")
    for name in "ab":
        sealer.add(tmp_path / name)
    begin = time.monotonic()
    sealer.tick()
    pid = sealer.job.pid
    sealer.tick()
    assert time.monotonic() - begin < 1.5
    assert pid and sealer.job.pid == pid
    sealer.drain(10)
    assert calls(tmp_path) == ["a", "b"]


def test_nothing_to_do_is_no_child(make: Make) -> None:
    sealer = make("exit 1")
    sealer.tick()
    sealer.drain(10)
    assert (sealer.job.pid, sealer.sealed, sealer.error) == (None, 0, "")


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
    assert (sealer.sealed, sealer.store_bytes, sealer.job.cpu_seconds) == (1, 5, 0.0)


def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    sealer = Sealer([str(tmp_path / "no such command")], 120.0)
    sealer.add(tmp_path / "a")
    sealer.drain(10)
    assert (sealer.waiting, sealer.sealed) == (1, 0)
    assert "No such file" in sealer.error


def tick_until(sealer: Sealer, condition: Callable[[], object]) -> None:
    """Tick as a recorder does, only faster."""
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        sealer.tick()
        time.sleep(0.005)
    assert condition()


# Prints as `seal` does: a child that left out names or samples says that the segment is incomplete.
SEALED = """[ "$1" = --names ] && echo '{"incomplete": 1}' || echo '{"incomplete": 0}'"""


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times that tests can wait for."""
    monkeypatch.setattr(sealer_module, "MIN_SLOW_SECONDS", 0.1)
    monkeypatch.setattr(sealer_module, "MIN_STUCK_SECONDS", 0.3)


def test_a_child_has_twice_the_time_of_a_segment() -> None:
    assert stuck_seconds(120.0) == 240.0
    assert stuck_seconds(5.0) == 30.0, "but not less than sealing may take on a busy machine"


def test_a_child_that_is_slow_is_reported_and_one_that_is_stuck_is_ended(
    tmp_path: Path, make: Make, fast: None
) -> None:
    sealer = make(f"""[ "$1" = --names ] || exec sleep 60; {SEALED}""")
    sealer.segment_seconds = 0.1
    sealer.add(tmp_path / "a")
    tick_until(sealer, lambda: sealer.error)
    assert "sealing a has taken" in sealer.error and sealer.job.pid
    tick_until(sealer, lambda: sealer.error and not sealer.job.pid)
    assert "was ended after" in sealer.error
    tick_until(sealer, lambda: sealer.sealed)
    assert calls(tmp_path) == ["a", "--names"]
    assert (sealer.sealed, sealer.incomplete, sealer.waiting) == (1, 1, 0)
    assert "a was sealed without the names of functions of programs: the sealing child was" in sealer.error


def test_after_a_child_was_stuck_the_next_segments_are_sealed_with_less_for_a_while(
    tmp_path: Path, make: Make, fast: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealer = make(f"""[ "$1" = --names ] || [ -e "{tmp_path}/well" ] || exec sleep 60; {SEALED}""")
    sealer.segment_seconds = 0.1
    for name in "abc":
        sealer.add(tmp_path / name)
    tick_until(sealer, lambda: sealer.sealed == 2)
    (tmp_path / "well").touch()
    tick_until(sealer, lambda: sealer.sealed == 3)
    # b came while it was not known that less helps.
    assert calls(tmp_path).count("--names") == 3 and sealer.incomplete == 3
    sealer.add(tmp_path / "d")
    time.sleep(sealer_module.CAREFUL_TIMES * 0.3)
    tick_until(sealer, lambda: sealer.sealed == 4)
    assert calls(tmp_path)[-1] == "d"
    assert (sealer.incomplete, sealer.error) == (3, ""), "all is well again, and what was not is counted"


@pytest.mark.parametrize(
    ("death", "why"), [("kill -9 $$", "ended with -9"), ("exit 1", "ended with 1"), ("kill -ABRT $$", "-6")]
)
def test_a_segment_that_kills_its_children_is_sealed_with_less(
    tmp_path: Path, make: Make, death: str, why: str
) -> None:
    sealer = make(f"""[ "$2" = kernel ] || {{ {death}; }}; {SEALED}""")
    sealer.add(tmp_path / "a")
    sealer.drain(10)
    sealer.drain(10)
    assert (sealer.sealed, why in sealer.error) == (0, True)
    sealer.drain(10)
    assert calls(tmp_path) == ["a", "a", "--names"], "once may have been chance"
    assert (sealer.sealed, sealer.incomplete) == (1, 1)


def test_one_that_can_only_be_sealed_without_samples(tmp_path: Path, make: Make) -> None:
    sealer = make(f"""echo "$2" >>"{tmp_path}/names"; [ "$2" = none ] || exit 1; {SEALED}""")
    sealer.add(tmp_path / "a")
    for _ in range(5):
        sealer.drain(10)
    assert (tmp_path / "names").read_text().split() == ["kernel", "kernel", "none"]
    assert (sealer.sealed, sealer.incomplete) == (1, 1)
    assert "a was sealed without samples" in sealer.error


def test_one_that_cannot_be_sealed_at_all_does_not_take_the_time_of_others(
    tmp_path: Path, make: Make, fast: None
) -> None:
    sealer = make(f"""case "$*" in *bad) exec sleep 60;; esac; {SEALED}""")
    sealer.segment_seconds = 0.1
    sealer.add(tmp_path / "bad")
    tick_until(sealer, lambda: calls(tmp_path).count("--names") == 2 and not sealer.job.pid)
    for name in "abc":
        sealer.add(tmp_path / name)
    tick_until(sealer, lambda: sealer.sealed == 3)
    assert calls(tmp_path) == ["bad", "--names", "--names", "a", "b", "c"]
    assert (sealer.waiting, sealer.incomplete) == (1, 0), "and they have all that was in them"
    assert "was ended after" in sealer.error, "as long as it waits"


def test_a_full_disk_is_no_reason_to_leave_anything_out(tmp_path: Path, make: Make) -> None:
    sealer = make("""echo '{"error": {"slug": "store", "what": "No space left on device"}}'; exit 2""")
    sealer.add(tmp_path / "a")
    for _ in range(5):
        sealer.drain(10)
    assert calls(tmp_path) == ["a"] * 5
    assert sealer.error == "No space left on device"


def test_a_pause_of_one_segment_does_not_hold_up_the_next(tmp_path: Path, make: Make) -> None:
    sealer = make(f"""case "$*" in *bad) exit 1;; esac; {SEALED}""")
    sealer.add(tmp_path / "bad")
    tick_until(sealer, lambda: len(calls(tmp_path)) >= 3 and not sealer.job.pid)  # the next is 4 s later
    begin = time.monotonic()
    sealer.add(tmp_path / "good")
    tick_until(sealer, lambda: sealer.sealed)
    assert time.monotonic() - begin < 3


def test_at_the_end_one_that_hangs_leaves_time_for_the_others(tmp_path: Path, make: Make) -> None:
    sealer = make(f"""case "$*" in *bad) exec sleep 60;; esac; {SEALED}""")
    sealer.add(tmp_path / "bad")
    sealer.add(tmp_path / "good")
    sealer.drain(2)
    assert (sealer.sealed, sealer.waiting) == (1, 1)
    assert "was ended after 1 s" in sealer.error


def test_what_is_left_at_the_end_is_reported(tmp_path: Path, make: Make) -> None:
    sealer = make("exec sleep 60")
    sealer.add(tmp_path / "a")
    sealer.drain(0.3)
    assert sealer.error


def test_draining_ends_in_time_with_a_child_that_does_not(tmp_path: Path, make: Make) -> None:
    sealer = make("exec sleep 20")
    sealer.add(tmp_path / "a")
    begin = time.monotonic()
    sealer.drain(0.2)
    assert time.monotonic() - begin < 10
    assert (sealer.waiting, sealer.sealed) == (1, 0)


@pytest.mark.parametrize(
    ("mounts", "own", "limits", "limit"),
    [
        (V2, "0::/a.slice/b.service\n", {"/a.slice/b.service/memory.max": "max\n"}, None),
        (
            V2,
            "0::/a.slice/b.service\n",
            {"/a.slice/memory.max": "7\n", "/a.slice/b.service/memory.max": "9\n"},
            7,
        ),
        (V2, "0::/\n", {"/memory.max": "536870912\n"}, 536_870_912),
        (V2, "0::/../../pod\n", {"/memory.max": "5\n"}, 5),
        (V1, "4:memory:/pod\n3:cpu:/x\n", {"/memory/memory.limit_in_bytes": NONE}, int(NONE)),
        (V1, "4:memory:/pod\n", {"/memory/pod/memory.limit_in_bytes": "4096\n"}, 4096),
        (V1, "", {}, None),
    ],
)
def test_the_least_limit_counts(
    tmp_path: Path, mounts: str, own: str, limits: dict[str, str], limit: int | None
) -> None:
    files = {f"{MOUNT}{name}": text for name, text in limits.items()}
    host = write_tree(tmp_path, {"/proc/1/mountinfo": mounts, "/proc/self/cgroup": own, **files})
    assert read_own_memory_limit(host) == limit


def test_a_real_cgroup_can_be_read() -> None:
    limit = read_own_memory_limit(Host())
    assert limit is None or limit > 0


def test_a_sealing_child_leaves_room_for_the_recorder() -> None:
    settings = RecordSettings()
    assert seal_memory_bytes(settings, None) == MAX_MEMORY_BYTES
    assert seal_memory_bytes(settings, 64 << 30) == MAX_MEMORY_BYTES
    assert seal_memory_bytes(settings, 512 << 20) == (512 << 20) - OTHERS_BYTES
    assert seal_memory_bytes(settings, 200 << 20) == 100 << 20
