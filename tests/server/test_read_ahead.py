from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from necroscope import _native
from necroscope.server import read_ahead
from necroscope.server.questions import diagnosis, lru_cache
from necroscope.server.questions.cores import ask_cores
from necroscope.server.questions.diagnosis import ask_diagnosis
from necroscope.server.questions.events import ask_events
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.read_ahead import begin_reading
from necroscope.server.work import Work
from necroscope.store import stored_events
from tests.server.questions.recorded_incident import recorded_incident, seconds


def read_all(store: RecordedStore, work: Work) -> None:
    """Wait until it has read what it wants."""
    begin_reading(store, work)
    for thread in threading.enumerate():
        if thread.name == "read-ahead":
            thread.join(10)
            assert not thread.is_alive()


def test_the_first_questions_read_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordedStore(recorded_incident(tmp_path))
    read_all(store, Work())
    heat = Mock(return_value=[])
    monkeypatch.setattr(_native, "seconds_of_files", heat)
    monkeypatch.setattr(stored_events, "_read_sealed", lambda _: pytest.fail("events were read again"))
    monkeypatch.setattr(lru_cache, "counts_of", lambda _: pytest.fail("counts were read again"))
    monkeypatch.setattr(diagnosis, "explain", lambda *_: pytest.fail("it was explained again"))
    assert ask_cores(store, seconds(0, 41), 100).cores
    heat.assert_called_once_with([])
    assert ask_events(store, seconds(0, 41), ()).events
    assert [store.counts.telling(segment) for segment in store.segments_of("node-17")]
    assert ask_diagnosis(store, seconds(0, 41)).level == "trouble"


def test_it_gives_way_to_the_first_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, work = RecordedStore(recorded_incident(tmp_path)), Work()
    work.was_asked = True
    read = Mock()
    monkeypatch.setattr(read_ahead, "_read_hour", read)
    read_all(store, work)
    read.assert_not_called()


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir(), lambda path: path.touch()])
def test_a_store_that_is_none_is_left_to_those_who_ask(
    tmp_path: Path, make: Callable[[Path], object], capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "store"
    make(path)
    read_all(RecordedStore(path), Work())
    assert capfd.readouterr().err == ""
