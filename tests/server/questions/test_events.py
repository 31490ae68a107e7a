from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from necroscope.model.time_range import TimeRange
from necroscope.server.questions import events as question
from necroscope.server.questions.events import ask_events, core_of_queue, events_in
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.store.stored_events import EVENTS, StoredEvent, events_between, read_events
from tests.diagnosis.scenes import NIC_LINE, QUEUES
from tests.server.questions.recorded_incident import BEGIN_US, RESET, RESET_ID, recorded_incident, seconds
from tests.stored import event_of, moment_of, sealed_segment, seconds_of


@pytest.mark.parametrize("is_open", [True, False])
def test_events_with_the_core_that_serves_the_queue(tmp_path: Path, is_open: bool) -> None:
    store = RecordedStore(recorded_incident(tmp_path, is_open=is_open))
    answer = ask_events(store, seconds(0, 40), ())
    assert [event.kind for event in answer.events] == ["unit-restart", "nic-reset"]
    reset = answer.events[1]
    assert (reset.id, reset.time_us) == (RESET_ID, BEGIN_US + 28_000_000)
    assert (reset.device, reset.queue, reset.core) == ("eth0", 0, 0)
    assert reset.line == reset.text == RESET.text
    assert (answer.events[0].line, answer.events[0].core) == ("", None)
    assert answer.kinds == {"unit-restart": 1, "nic-reset": 1} and answer.left_out == 0


def test_some_kinds_only_and_all_are_counted(tmp_path: Path) -> None:
    answer = ask_events(RecordedStore(recorded_incident(tmp_path)), seconds(0, 40), ("nic-reset",))
    assert [event.kind for event in answer.events] == ["nic-reset"]
    assert answer.kinds == {"unit-restart": 1, "nic-reset": 1} and answer.left_out == 0


def test_an_end_is_no_part_of_a_range(tmp_path: Path) -> None:
    store = RecordedStore(recorded_incident(tmp_path))
    assert not ask_events(store, seconds(27, 28), ()).events
    assert len(ask_events(store, seconds(28, 28.5), ()).events) == 1


def test_of_too_many_the_rare_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "MOST_EVENTS", 4)
    often = [event_of("core-saturated", second, core=0) for second in range(8)]
    rare = [event_of("nic-reset", 1.5), event_of("oom-kill", 6.5)]
    sealed_segment(tmp_path, seconds_of(["idle"] * 9), [*often, *rare])
    answer = ask_events(RecordedStore(tmp_path), seconds(0, 9), ())
    kinds = [event.kind for event in answer.events]
    assert kinds == ["nic-reset", "core-saturated", "oom-kill", "core-saturated"]
    assert answer.left_out == 6 and answer.kinds["core-saturated"] == 8


def test_events_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    store = RecordedStore(recorded_incident(tmp_path))
    (store.segments_of("node-17")[1].folder / EVENTS).write_bytes(b"PAR1 and no more")
    answer = ask_events(store, seconds(0, 40), ())
    assert not answer.events and len(answer.damaged) == 1


def test_a_queue_that_several_cores_serve_has_no_core_of_its_own(tmp_path: Path) -> None:
    queues = (replace(QUEUES[0], cores=(0, 1)),)
    segment = sealed_segment(tmp_path, [moment_of(second, {NIC_QUEUES: queues}) for second in (0, 9)])
    assert core_of_queue(StoredEvent("x", 0, NIC_LINE, segment)) is None


def test_a_core_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordedStore(recorded_incident(tmp_path))
    looked = Mock(return_value=5)
    monkeypatch.setattr(question, "core_of_queue", looked)
    cores = [ask_events(store, seconds(0, 40), ()).events[1].core for _ in range(3)]
    assert cores == [5, 5, 5]
    assert [call.args[0].id for call in looked.call_args_list] == [RESET_ID]


def test_a_sealed_segment_is_read_once_and_an_open_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RecordedStore(recorded_incident(tmp_path / "sealed"))
    still_open = RecordedStore(recorded_incident(tmp_path / "open", is_open=True))
    reading = Mock(side_effect=read_events)
    monkeypatch.setattr(question, "read_events", reading)
    for asked, reads in ((store, 1), (still_open, 3)):  # the first segment says that it has none
        reading.reset_mock()
        answers = [ask_events(asked, seconds(0, 40), ()).kinds for _ in range(3)]
        assert answers == [{"unit-restart": 1, "nic-reset": 1}] * 3
        assert reading.call_count == reads


def test_an_event_that_is_told_again_in_the_next_segment_is_one(tmp_path: Path) -> None:
    short, long = (event_of("core-saturated", 3, core=0, seconds=length) for length in (2.0, 6.0))
    moments = seconds_of(["system"] * 9)
    sealed_segment(tmp_path, moments[:6], [short])
    sealed_segment(tmp_path, moments[5:], [long])
    store = RecordedStore(tmp_path)
    segments = store.segments_of("node-17")
    between = events_between(segments, TimeRange(segments[0].begin_ns, segments[1].end_ns))
    assert events_in(store, seconds(0, 9), []) == between
    assert [one.event.seconds for one in between] == [6.0]
