"""Nothing is written until something happens; then the last seconds are, once."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from necroscope.agent.flight import AFTER_NS, FlightMemory
from necroscope.agent.output import Workshop
from necroscope.agent.writer import Writer
from necroscope.model.event import Event
from necroscope.model.labels import Labels
from necroscope.sources.cores import CORES
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.store.journal import Journal, read_journal
from necroscope.store.segment import Moment
from necroscope.store.store import read_segment
from tests.segments import BEGIN_NS, kernel_log
from tests.stored import (
    OFFSET_NS,
    SECOND_NS,
    anchor_at,
    event_of,
    moment_of,
    seconds_of,
)

MEMORY_SECONDS = 10.0
MOMENTS = seconds_of(["idle"] * 120)


class FakeWriter:
    """Keeps what it is given; all of it is on disk at once."""

    def __init__(self) -> None:
        self.segments: dict[Path, bytes] = {}
        self.documents: dict[Path, Mapping[str, Any]] = {}
        self.finished: deque[Path] = deque()
        self.error = ""
        self._folder = Path()

    def begin(self, folder: Path, document: Mapping[str, Any]) -> None:
        self._folder, self.segments[folder], self.documents[folder] = folder, b"", document

    def append(self, data: bytes) -> None:
        self.segments[self._folder] += data

    def end(self, folder: Path) -> None:
        self.finished.append(folder)

    def close(self, _: float) -> None: ...

    @property
    def journals(self) -> list[Journal]:
        return [read_journal(data) for data in self.segments.values()]


class FakeProfiler:
    """Gives its samples to the segment that asks for them, when `is_done` is set."""

    wants_new_segment = False

    def __init__(self) -> None:
        self.asked: list[Path] = []
        self.is_done = True
        self.stopped = False

    def begin_segment(self, folder: Path) -> None:
        assert not self.stopped
        self.asked.append(folder)

    def tick(self) -> Sequence[Event]:
        return (event_of("capture-gap", 0),)

    def is_done_with(self, _: Path) -> bool:
        return self.is_done

    def stop(self) -> Sequence[Event]:
        self.stopped = True
        return ()


class FakeSealer:
    def __init__(self) -> None:
        self.added: list[Path] = []

    def add(self, folder: Path) -> None:
        self.added.append(folder)

    def tick(self) -> None: ...

    def drain(self, _: float) -> None: ...


class Flight:
    """A flight memory, and what it works with."""

    def __init__(self, folder: Path, *, writer: Any = None) -> None:
        self.writer, self.sealer, self.profiler = FakeWriter(), FakeSealer(), FakeProfiler()
        parts: Any = (writer or self.writer, self.sealer, self.profiler)
        self.memory = FlightMemory(Workshop(folder, Labels("node", boot_id="boot"), *parts), MEMORY_SECONDS)
        self.taken = 0

    def take(self, until: int, *events: Event, stepped: bool = False, offset_ns: int = OFFSET_NS) -> None:
        """Moments until a second; the last one with some events."""
        while self.taken <= until:
            moment = MOMENTS[self.taken]
            is_last = self.taken == until
            anchor = anchor_at(moment.time_ns, offset_ns)
            self.memory.tick()
            self.memory.take(moment, events if is_last else (), anchor, stepped=is_last and stepped)
            self.taken += 1

    def finish(self) -> None:
        self.memory.finish(self.memory.stop())


@pytest.fixture
def flight(tmp_path: Path) -> Flight:
    return Flight(tmp_path)


def seconds(journal: Journal) -> list[int]:
    return [(moment.time_ns - BEGIN_NS) // SECOND_NS for moment in journal.moments]


def test_nothing_is_written_while_nothing_happens(flight: Flight, tmp_path: Path) -> None:
    flight.take(60, event_of("unit-restart", 60), event_of("capture-gap", 60))
    flight.finish()
    assert flight.writer.segments == {}
    assert list(tmp_path.iterdir()) == []
    assert flight.profiler.stopped and not flight.profiler.asked


def test_an_event_writes_the_seconds_before_it_and_some_after(flight: Flight, tmp_path: Path) -> None:
    event = event_of("nic-reset", 30)
    flight.take(30, event)
    flight.take(40)
    (journal,) = flight.writer.journals
    last = 30 + AFTER_NS // SECOND_NS
    assert seconds(journal) == list(range(last - 10, last + 1))
    assert journal.events == [event]
    assert journal.end and journal.end.why == "event"
    assert journal.anchors[0].offset_ns == OFFSET_NS
    (folder,) = flight.writer.segments
    assert folder.parent == tmp_path and folder.is_dir()
    assert flight.profiler.asked == [folder], "the samples of the same seconds"
    document = flight.writer.documents[folder]
    assert document["begin_ns"] == journal.moments[0].time_ns + OFFSET_NS
    assert (document["state"], document["host"]["boot_id"]) == ("open", "boot")


def test_a_saturated_core_is_an_event_that_counts(flight: Flight) -> None:
    flight.take(5, event_of("core-saturated", 2))
    flight.take(10)
    assert len(flight.writer.segments) == 1


def test_a_line_between_two_moments_counts_too(flight: Flight) -> None:
    flight.take(5)
    event = event_of("oom-kill", 5.5)
    flight.memory.add(moment_of(5.5, {KERNEL_LOG: kernel_log("line")}), [event])
    flight.take(10)
    (journal,) = flight.writer.journals
    assert journal.events == [event]
    assert [KERNEL_LOG.id in moment.readings for moment in journal.moments].count(True) == 1


@pytest.mark.parametrize(("memory", "ends"), [(10.0, [22, 27]), (60.0, [22, 52]), (120.0, [22, 52])])
def test_a_swarm_of_events_is_two_segments_with_a_pause_and_none_is_forgotten(
    flight: Flight, memory: float, ends: list[int]
) -> None:
    flight.memory.seconds = memory
    swarm = [event_of("nic-reset", second) for second in range(20, 25)]
    for second, event in enumerate(swarm, 20):
        flight.take(second, event)
    flight.take(110)
    assert [seconds(journal)[-1] for journal in flight.writer.journals] == ends
    assert [event for journal in flight.writer.journals for event in journal.events] == swarm


def test_no_moment_is_in_two_segments(flight: Flight) -> None:
    flight.take(30, event_of("nic-reset", 30))
    flight.take(32)
    flight.take(70, event_of("nic-reset", 70))
    flight.take(80)
    first, second = (set(seconds(journal)) for journal in flight.writer.journals)
    assert first and second and not first & second


def test_times_before_and_after_a_clock_step_are_never_in_one_segment(flight: Flight) -> None:
    flight.take(20)
    flight.take(21, stepped=True, offset_ns=OFFSET_NS + 3600 * SECOND_NS)
    flight.take(22, event_of("nic-reset", 22), offset_ns=OFFSET_NS + 3600 * SECOND_NS)
    flight.take(30, offset_ns=OFFSET_NS + 3600 * SECOND_NS)
    (journal,) = flight.writer.journals
    assert seconds(journal)[0] == 21
    assert {anchor.offset_ns for anchor in journal.anchors} == {OFFSET_NS + 3600 * SECOND_NS}


def test_an_event_just_before_the_end_is_not_lost(flight: Flight) -> None:
    flight.take(30, event_of("nic-reset", 30))
    assert flight.writer.segments == {}
    flight.finish()
    (journal,) = flight.writer.journals
    assert seconds(journal)[-1] == 30
    assert flight.sealer.added == list(flight.writer.segments)


def test_a_segment_is_sealed_when_its_samples_are_there(flight: Flight) -> None:
    flight.profiler.is_done = False
    flight.take(5, event_of("nic-reset", 5))
    flight.take(20)
    assert flight.writer.segments and flight.sealer.added == []
    flight.profiler.is_done = True
    flight.take(21)
    assert flight.sealer.added == list(flight.writer.segments)


def test_lines_that_the_first_moment_has_are_there_once(flight: Flight) -> None:
    """The recorder adds them by itself, with the events in them."""
    log = kernel_log("line")
    first = moment_of(0, {CORES: MOMENTS[0].readings[CORES.id], KERNEL_LOG: log})
    flight.memory.begin(first, anchor_at(BEGIN_NS))
    event = event_of("oom-kill", 0)
    flight.memory.add(
        Moment(BEGIN_NS, {KERNEL_LOG.id: first.readings[KERNEL_LOG.id]}, first.cost_ns), [event]
    )
    flight.finish()
    (journal,) = flight.writer.journals
    with_log = [moment for moment in journal.moments if KERNEL_LOG.id in moment.readings]
    assert len(with_log) == 1


def test_holes_in_the_samples_are_handed_on(flight: Flight) -> None:
    assert [event.kind for event in flight.memory.tick()] == ["capture-gap"]


def test_a_memory_is_written_whole(tmp_path: Path) -> None:
    writer = Writer()
    flight = Flight(tmp_path, writer=writer)
    flight.take(15, event_of("nic-reset", 15))
    flight.finish()
    writer.close(5)
    assert writer.dropped == 0
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert read_segment(folder).end_ns == MOMENTS[15].time_ns + OFFSET_NS
    assert len(read_journal((folder / "journal.frames").read_bytes()).moments) == 11
