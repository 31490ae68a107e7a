"""What is given to the writer is on disk in order, once, however often the disk was full meanwhile."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from necroscope.agent import writer as writer_module
from necroscope.agent.writer import Writer
from necroscope.store import durable
from necroscope.store.frames import frame, payloads
from necroscope.store.journal import JOURNAL, LOCK
from necroscope.store.process_lock import hold

RETRY_SECONDS = 0.01
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


class Disk:
    """Answers of os.write that a test asks for: how many bytes it takes, or an error; then as ever.

    Writes of other threads are let through.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: list[int | OSError] = []
        self.is_full = False
        self.calls = 0
        self._write = os.write
        monkeypatch.setattr(os, "write", self._answer)

    def _answer(self, descriptor: int, data: bytes) -> int:
        if threading.current_thread().name != "writer":
            return self._write(descriptor, data)
        self.calls += 1
        answer = FULL if self.is_full else self.answers.pop(0) if self.answers else len(data)
        if isinstance(answer, OSError):
            raise answer
        return self._write(descriptor, data[:answer])


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def make() -> Iterator[Callable[..., Writer]]:
    made: list[Writer] = []

    def make_one(**more: Any) -> Writer:
        made.append(Writer(**{"retry_seconds": RETRY_SECONDS, **more}))
        return made[-1]

    yield make_one
    for one in made:
        one.close(5)


def written(folder: Path) -> list[bytes]:
    return list(payloads((folder / JOURNAL).read_bytes()))


def test_segments_are_written_in_order(tmp_path: Path, make: Callable[..., Writer]) -> None:
    writer = make()
    folders = [tmp_path / "node" / name for name in "abc"]
    for number, folder in enumerate(folders):
        writer.begin(folder, {"number": number})
        for second in range(5):
            writer.append(frame(b"%d.%d" % (number, second)))
        writer.end(folder)
    writer.close(5)
    assert list(writer.finished) == folders
    for number, folder in enumerate(folders):
        assert json.loads((folder / "segment.json").read_text()) == {"number": number}
        assert written(folder) == [b"%d.%d" % (number, second) for second in range(5)]
    assert (writer.error, writer.dropped, writer.waiting) == ("", 0, 0)


def test_an_open_segment_is_on_disk_at_once_and_locked(tmp_path: Path, make: Callable[..., Writer]) -> None:
    writer = make()
    writer.begin(tmp_path / "a", {})
    writer.append(frame(b"first"))
    wait_until(lambda: (tmp_path / "a" / JOURNAL).exists() and written(tmp_path / "a") == [b"first"])
    with pytest.raises(BlockingIOError):
        hold(tmp_path / "a" / LOCK)
    writer.end(tmp_path / "a")
    wait_until(lambda: list(writer.finished) == [tmp_path / "a"])
    os.close(hold(tmp_path / "a" / LOCK))


def test_a_full_disk_costs_nothing_once_it_takes_again(
    tmp_path: Path, make: Callable[..., Writer], disk: Disk
) -> None:
    writer = make()
    folder = tmp_path / "a"
    frames = [frame(b"second %d" % second) for second in range(10)]
    writer.begin(folder, {})
    writer.append(frames[0])
    wait_until(lambda: writer.waiting == 0)
    disk.is_full = True
    for data in frames[1:]:
        writer.append(data)
    wait_until(lambda: disk.calls > 3)
    assert "No space left" in writer.error
    assert (folder / JOURNAL).read_bytes() == frames[0]
    assert writer.waiting == 9
    disk.is_full = False
    wait_until(lambda: not writer.error)
    assert (folder / JOURNAL).read_bytes() == b"".join(frames)
    assert (writer.dropped, writer.waiting) == (0, 0)


def test_half_a_frame_is_taken_back_and_written_anew(
    tmp_path: Path, make: Callable[..., Writer], disk: Disk
) -> None:
    writer = make()
    folder = tmp_path / "a"
    frames = [frame(b"second %d" % second) for second in range(6)]
    disk.answers = [len(frames[0]), 7, FULL, 1, len(frames[1]), len(frames[2]), 0, FULL]
    writer.begin(folder, {})
    for data in frames:
        writer.append(data)
    writer.end(folder)
    wait_until(lambda: bool(writer.finished))
    assert disk.answers == [], "all of these happened"
    assert (folder / JOURNAL).read_bytes() == b"".join(frames)


def test_the_file_is_whole_at_every_moment_between_two_attempts(
    tmp_path: Path, make: Callable[..., Writer], disk: Disk
) -> None:
    writer = make(retry_seconds=0.5)  # long enough to look in between
    folder = tmp_path / "a"
    frames = [frame(b"x" * 100 + b"%d" % n) for n in range(4)]
    disk.answers = [len(frames[0]), *([50] * 6)]
    writer.begin(folder, {})
    for data in frames:
        writer.append(data)
    wait_until(lambda: disk.calls >= 3 and "No space" in writer.error)
    assert (folder / JOURNAL).read_bytes() == frames[0]
    wait_until(lambda: writer.waiting == 0)
    assert (folder / JOURNAL).read_bytes() == b"".join(frames)


def test_beyond_the_bound_the_oldest_go_and_are_counted(
    tmp_path: Path, make: Callable[..., Writer], disk: Disk
) -> None:
    writer = make(most_waiting_bytes=5 * len(frame(b"00")))
    writer.begin(tmp_path / "a", {})
    wait_until(lambda: writer.waiting == 0)
    disk.is_full = True
    for second in range(20):
        writer.append(frame(b"%02d" % second))
    assert (writer.waiting, writer.dropped) == (5, 15)
    disk.is_full = False
    wait_until(lambda: writer.waiting == 0)
    first, *others = written(tmp_path / "a")
    assert first == b"00", "it may have been half on the disk already"
    assert others == [b"16", b"17", b"18", b"19"]


def test_on_a_full_disk_room_is_made(tmp_path: Path, make: Callable[..., Writer], disk: Disk) -> None:
    made = []

    def make_room() -> None:
        made.append(1)
        disk.is_full = False

    writer = make(make_room=make_room)
    writer.begin(tmp_path / "a", {})
    wait_until(lambda: writer.waiting == 0)
    disk.is_full = True
    writer.append(frame(b"0"))
    wait_until(lambda: writer.waiting == 0)
    assert made == [1] and written(tmp_path / "a") == [b"0"]


def test_where_segments_begin_and_end_is_never_given_up(
    tmp_path: Path, make: Callable[..., Writer], disk: Disk
) -> None:
    writer = make(most_waiting_bytes=3 * len(frame(b"0")))
    disk.is_full = True
    for name in "abcd":
        writer.begin(tmp_path / name, {})
        for second in range(5):
            writer.append(frame(b"%d" % second))
        writer.end(tmp_path / name)
    disk.is_full = False
    wait_until(lambda: len(writer.finished) == 4)
    assert [path.name for path in writer.finished] == list("abcd")
    left = sum(len(written(tmp_path / name)) for name in "abcd")
    assert left + writer.dropped == 4 * 5


@pytest.mark.parametrize("step", ["write_durably", "sync_folder"])
def test_a_segment_that_could_not_be_opened_is_opened_later(
    tmp_path: Path, make: Callable[..., Writer], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    real = getattr(writer_module, step)
    refusals = [FULL, FULL]

    def refuse(*arguments: Any) -> None:
        if refusals:
            raise refusals.pop()
        real(*arguments)

    monkeypatch.setattr(writer_module, step, refuse)
    writer = make()
    writer.begin(tmp_path / "a", {"number": 1})
    writer.append(frame(b"first"))
    wait_until(lambda: writer.waiting == 0 and not writer.error)
    assert written(tmp_path / "a") == [b"first"]
    assert json.loads((tmp_path / "a/segment.json").read_text()) == {"number": 1}


def test_a_segment_is_never_described_without_a_journal(
    tmp_path: Path, make: Callable[..., Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = durable.write_durably

    def look(path: Path, data: bytes) -> None:
        seen.append((path.parent / JOURNAL).exists())
        real(path, data)

    monkeypatch.setattr(writer_module, "write_durably", look)
    writer = make()
    writer.begin(tmp_path / "a", {})
    writer.close(5)
    assert seen == [True]


def test_closing_does_not_wait_for_a_disk_that_stays_full(
    tmp_path: Path, make: Callable[..., Writer], disk: Disk
) -> None:
    writer = make(retry_seconds=60)
    disk.is_full = True
    writer.begin(tmp_path / "a", {})
    writer.append(frame(b"first"))
    wait_until(lambda: bool(writer.error))
    begin = time.monotonic()
    writer.close(30)
    assert time.monotonic() - begin < 5
    assert (writer.waiting, written(tmp_path / "a")) == (1, [])


def test_the_file_beside_the_journal_is_synced_and_may_be_gone(
    tmp_path: Path, make: Callable[..., Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []

    def sync(path: Path) -> None:
        synced.append(path)
        path.stat()

    monkeypatch.setattr(writer_module, "sync_file", sync)
    writer = make()
    writer.beside = tmp_path / "perf.data"
    writer.begin(tmp_path / "a", {})
    writer.append(frame(b"first"))
    writer.close(5)
    assert set(synced) == {tmp_path / "perf.data"}
    assert (writer.error, written(tmp_path / "a")) == ("", [b"first"])
