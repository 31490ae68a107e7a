from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from necroscope.errors import NothingRecordedError
from necroscope.server.questions import recorded_store
from necroscope.server.questions.live import ask_live
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.store.frames import payloads
from necroscope.store.journal import JOURNAL, End, end_frame, event_frame, moment_frame
from necroscope.store.seal import seal_recorded
from necroscope.store.store import StoredSegment
from tests.stored import HOST, SECOND_NS, UTC_NS, anchor_at, event_of, no_profile, open_segment, seconds_of

PLAN = ["system", "user", "idle", "softirq", "system", "idle", "user", "system"] * 50
MOMENTS = seconds_of(PLAN)
US = UTC_NS // 1000
PERCENT = {"system": 100}


@pytest.fixture(autouse=True)
def _always_listed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_store, "LISTED_SECONDS", 0.0)


def append(segment: StoredSegment, *frames: bytes) -> None:
    with (segment.folder / JOURNAL).open("ab") as file:
        file.write(b"".join(frames))


def system(begin: int, end: int) -> list[int]:
    return [PERCENT.get(mode, 0) for mode in PLAN[begin:end]]


def polled(store: RecordedStore, since_us: int) -> tuple[int, list[int]]:
    answer = ask_live(store, HOST, since_us)
    return answer.last_us, list(b64decode(answer.cores.system)) if answer.cores else []


def grown(tmp_path: Path, store: RecordedStore) -> Iterator[tuple[int, list[int]]]:
    """Two segments that are written second by second, and polled in every one; the first is sealed."""
    segment = open_segment(tmp_path, MOMENTS[:2])
    since_us = US
    for second in range(2, 12):
        since_us, seen = polled(store, since_us)
        yield since_us, seen
        if second == 6:
            append(segment, end_frame(End(MOMENTS[5].time_ns, "full")))
            old, segment = segment, open_segment(tmp_path, MOMENTS[5:6])
        if second == 8:
            seal_recorded(old, no_profile)
        append(segment, moment_frame(MOMENTS[second]))
    yield polled(store, since_us)


def test_no_second_is_lost_or_told_twice_while_segments_are_sealed(tmp_path: Path) -> None:
    seen = [percent for _, percents in grown(tmp_path, RecordedStore(tmp_path)) for percent in percents]
    assert seen == system(0, 11)


def test_without_a_new_second_there_is_little_to_tell(tmp_path: Path) -> None:
    open_segment(tmp_path, MOMENTS[:5])
    store = RecordedStore(tmp_path)
    last_us, seen = polled(store, 0)
    assert (last_us, seen) == (US + 4_000_000, system(0, 4))
    answer = ask_live(store, HOST, last_us)
    assert (answer.cores, answer.zombies, answer.last_us) == (None, None, last_us)
    assert ask_live(store, HOST, last_us + 10**12).cores is None


def test_at_most_five_minutes(tmp_path: Path) -> None:
    open_segment(tmp_path, MOMENTS)
    last_us, seen = polled(RecordedStore(tmp_path), 0)
    assert (last_us, seen) == (US + 400_000_000, system(100, 400))


def test_a_recorder_that_runs_and_one_that_does_not(tmp_path: Path) -> None:
    anchor = anchor_at(MOMENTS[0].time_ns, time.time_ns() - MOMENTS[4].time_ns)
    open_segment(tmp_path, MOMENTS[:5], anchor=anchor, host="running")
    open_segment(tmp_path, MOMENTS[:5])
    store = RecordedStore(tmp_path)
    assert (ask_live(store, "running", 0).is_live, ask_live(store, "running", 0).why) == (True, "")
    stopped = ask_live(store, HOST, 0)
    assert not stopped.is_live and "no recorder has written for" in stopped.why


def test_an_event_comes_at_once_and_again_with_its_length(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS[:5])
    store = RecordedStore(tmp_path)
    assert ask_live(store, HOST, US).events == []
    append(segment, event_frame(event_of("core-saturated", 4.5, core=0, seconds=2.0)))
    (first,) = ask_live(store, HOST, US + 4_000_000).events
    append(segment, event_frame(event_of("core-saturated", 4.5, core=0, seconds=9.0)))
    (again,) = ask_live(store, HOST, US + 4_000_000).events
    assert first.id == again.id and first.time_us == US + 4_500_000


def test_only_what_is_new_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = open_segment(tmp_path, MOMENTS[:100])
    store = RecordedStore(tmp_path)
    since_us, _ = polled(store, 0)
    decoded = Mock(side_effect=payloads)
    monkeypatch.setattr("necroscope.store.journal.payloads", decoded)
    append(segment, moment_frame(MOMENTS[100]))
    assert polled(store, since_us) == (US + 100 * SECOND_NS // 1000, system(99, 100))
    assert sum(len(call.args[0]) for call in decoded.call_args_list) == len(moment_frame(MOMENTS[100]))


def test_an_unknown_host(tmp_path: Path) -> None:
    with pytest.raises(NothingRecordedError):
        ask_live(RecordedStore(tmp_path), "../x", 0)
