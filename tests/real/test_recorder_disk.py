"""A store whose disk fills up, or turns read-only, while a recorder writes to it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.faults import small_disks
from lab.faults.hogs import user_hog
from lab.faults.small_disks import SmallDisk, small_disk
from tests.real import recorders
from tests.real.recorders import (
    Recorder,
    events_of,
    metrics,
    recording,
    require_all_open,
    require_tidy,
    seconds_with_counters,
    segments_of,
    wait_until,
)

REASON = recorders.why_not() or small_disks.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
LISTEN = ("--listen", "127.0.0.1:0")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def require_every_second(store: Path) -> None:
    there = sorted(seconds_with_counters(store))
    missing = set(range(there[0] + 1, there[-1])) - set(there)
    assert missing == set(), (there[0], there[-1])


@contextmanager
def sealing_held_up(one: Recorder) -> Iterator[None]:
    """A segment that is closed, and whose sealing has begun, when something happens."""
    wait_until(lambda: one.child("seal"), 10, "a sealing child")
    pid = one.child("seal")
    assert pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_filled_by_somebody_else_nothing_stops_and_no_second_is_missing(disk: SmallDisk) -> None:
    store = disk.folder
    with recording(store, "--segment", "3s", *LISTEN) as one:
        with sealing_held_up(one):
            disk.fill()
        one.wait_for("the store: ")
        one.wait_for("sealing: ")
        wait_until(lambda: metrics(one)["necroscope_frames_waiting"] >= 3, 20, "frames in memory")
        full = metrics(one)
        disk.clear()
        one.wait_for("the store: well again")
        one.wait_for("no samples for", 30)
        wait_until(lambda: metrics(one)["necroscope_store_writable"] == 1, 10, "a store that is well")
        after = metrics(one)
        code, body = one.end()
    said = one.said()
    assert code == 1, said
    assert [finding["id"] for finding in body["findings"]] == ["capture-gap"]
    assert (body["store_error"], body["frames_dropped"], body["frames_waiting"]) == ("", 0, 0)
    assert full["necroscope_store_writable"] == 0
    assert after["necroscope_recorder_moments_total"] > full["necroscope_recorder_moments_total"]
    require_every_second(store)
    require_all_open(store)
    require_tidy(store)
    assert any("No space left" in event.event.text for event in events_of(store, "capture-gap")), said


def test_filled_by_our_own_segments_the_newest_stay(disk: SmallDisk) -> None:
    store = disk.folder
    words = ("--segment", "2s", "--rate", "1997", "--keep-perf-data", "--budget", "3MiB")
    with user_hog(0), user_hog(1), recording(store, *words) as one:
        first = segments_of(store)[0].folder
        time.sleep(13)
        code, body = one.end()
    assert (code, body["findings"]) == (0, []), one.said()
    left = segments_of(store)
    assert not first.exists()
    sizes = [sum(file.bytes or 0 for file in segment.description.files) for segment in left]
    assert sum(sizes) <= (3 << 20) + 2 * max(sizes), "room is made before a segment is sealed"
    assert abs(left[-1].end_ns - time.time_ns()) < 5e9, "the newest is there"
    require_every_second(store)
    require_all_open(store)
    require_tidy(store)


@pytest.mark.servers
def test_a_disk_that_others_use_too_loses_our_oldest_only(disk: SmallDisk) -> None:
    """No budget is given, and the room is not ours alone: we must not be what fills it."""
    store = disk.folder
    (store / "others").write_bytes(bytes(36 << 20))
    words = ("--segment", "2s", "--rate", "4999", "--keep-perf-data")
    with user_hog(0), user_hog(1), recording(store, *words) as one:
        first = segments_of(store)[0].folder
        time.sleep(18)
        code, body = one.end()
    assert body["store_error"] == "", one.said()
    assert (code, body["findings"]) == (0, []), one.said()
    assert not first.exists()
    assert time.time_ns() - segments_of(store)[-1].end_ns < 5e9, "the newest is there"
    require_every_second(store)
    require_all_open(store)
    require_tidy(store)


def test_turned_read_only_it_goes_on_and_what_was_there_stays_readable(disk: SmallDisk) -> None:
    store = disk.folder
    with recording(store, "--segment", "3s", *LISTEN) as one:
        time.sleep(5)
        before = seconds_with_counters(store)
        disk.fail()
        one.wait_for("Read-only file system")
        wait_until(lambda: metrics(one)["necroscope_store_writable"] == 0, 10, "it tells")
        moments = metrics(one)["necroscope_recorder_moments_total"]
        wait_until(lambda: metrics(one)["necroscope_recorder_moments_total"] > moments + 3, 20, "it goes on")
        code, body = one.end()
    assert code == 1, one.said()
    assert [finding["id"] for finding in body["findings"]] == ["capture-gap"]
    assert "Read-only" in body["store_error"] and body["frames_waiting"] > 5
    assert before - seconds_with_counters(store) == set()
    require_all_open(store)
