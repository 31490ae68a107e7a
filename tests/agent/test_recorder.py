"""The loop: a moment a second, and what is said when one is late or the clock was set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from necroscope.agent import recorder as recorder_module
from necroscope.agent.recorder import Parts, Recorder
from necroscope.model.event import Event
from necroscope.model.reading import Reading
from necroscope.sources.cores import CORES
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.store.clock import Anchor
from necroscope.store.segment import Moment
from tests.segments import BEGIN_NS
from tests.stored import OFFSET_NS, SECOND_NS, event_of


@dataclass
class Machine:
    """A machine in which time passes when somebody waits. `plan` says what happens at each waiting."""

    now_ns: int = BEGIN_NS
    offset_ns: int = OFFSET_NS
    suspended_ns: int = 0
    lines: list[LogLine] = field(default_factory=list)
    plan: dict[int, Callable[[], bool | None]] = field(default_factory=dict)
    waits: int = 0
    marks: int = 0
    rung: int = 0

    # the time module
    def monotonic_ns(self) -> int:
        return self.now_ns

    # the bell
    def wait(self, until_ns: int) -> bool:
        self.waits += 1
        if what := self.plan.pop(self.waits, None):
            return bool(what())
        self.now_ns = max(self.now_ns, until_ns)
        return False

    def ring(self) -> None:
        self.rung += 1

    # the log clock
    def mark(self) -> bool:
        self.marks += 1
        return True

    def anchor(self) -> Anchor:
        utc_ns = self.now_ns + self.offset_ns + self.suspended_ns
        return Anchor(self.now_ns, utc_ns, self.now_ns + self.suspended_ns)

    def calibrated(self, reading: Reading[KernelLog]) -> Reading[KernelLog]:
        return reading

    # the sampler
    def read(self, *, everything: bool = False) -> Moment:
        log = KernelLog(tuple(self.lines), 0, "kmsg")
        self.lines.clear()
        cores: Reading[Any] = Reading(("all" if everything else "due",))
        return Moment(self.now_ns, {CORES.id: cores, KERNEL_LOG.id: Reading(log)}, {})

    def read_only(self, source: object) -> Moment:
        assert source is KERNEL_LOG
        log = self.read().readings[KERNEL_LOG.id]
        return Moment(self.now_ns, {KERNEL_LOG.id: log}, {})


@dataclass
class Kept:
    """An output that keeps what it is given."""

    seconds: float = 120.0
    begun: list[Moment] = field(default_factory=list)
    taken: list[tuple[Moment, list[Event], bool]] = field(default_factory=list)
    added: list[tuple[Moment, list[Event]]] = field(default_factory=list)
    own: list[Event] = field(default_factory=list)
    everything: bool = False
    finished: int = 0
    last: list[Event] = field(default_factory=list)

    def begin(self, moment: Moment, _: Anchor) -> None:
        self.begun.append(moment)

    def wants_everything(self) -> bool:
        return self.everything

    def take(self, moment: Moment, events: Sequence[Event], _: Anchor, *, stepped: bool) -> None:
        self.taken.append((moment, list(events), stepped))

    def add(self, moment: Moment, events: Sequence[Event]) -> None:
        self.added.append((moment, list(events)))

    def tick(self) -> Sequence[Event]:
        own, self.own = self.own, []
        return own

    def take_last(self, moment: Moment, events: Sequence[Event], _: Anchor) -> None:
        self.taken.append((moment, list(events), False))

    def stop(self) -> Sequence[Event]:
        return self.tick()

    def finish(self, events: Sequence[Event]) -> None:
        self.last = list(events)
        self.finished += 1

    @property
    def events(self) -> list[Event]:
        return [event for _, events, _ in self.taken for event in events]


class Recording:
    """A recorder of a machine, and all that came of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.machine, self.kept = Machine(), Kept()
        self.observed: list[tuple[Moment, list[Event]]] = []
        self.before: list[Event] = []
        self.log_from_ns = 0
        self.watch: Callable[[Moment], Sequence[Event]] = _watch
        self.recorder: Recorder
        monkeypatch.setattr(recorder_module, "time", self.machine)

    def run(self, seconds: float | None = 5) -> Kept:
        machine: Any = self.machine
        parts = Parts(
            sampler=machine,
            log_clock=machine,
            bell=machine,
            watch=self.watch,
            observe=lambda moment, events: self.observed.append((moment, list(events))),
            log_from_ns=self.log_from_ns,
            before=self.before,
        )
        self.recorder = Recorder(parts)
        self.recorder.run(self.recorder.first_moment(), self.kept, seconds)
        return self.kept

    def later(self, seconds: float, *, heard: bool = False) -> Callable[[], bool]:
        def pass_time() -> bool:
            self.machine.now_ns += int(seconds * 1e9)
            return heard

        return pass_time

    def log(self, text: str, at_ns: int = 0) -> None:
        self.machine.lines.append(LogLine(at_ns or self.machine.now_ns, text, 0, 1))


def _watch(moment: Moment) -> list[Event]:
    """Every line of the log is an event."""
    log = moment.readings[KERNEL_LOG.id].value
    return [Event("user-mark", line.time_ns, "test", line.text) for line in log.lines] if log else []


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> Recording:
    return Recording(monkeypatch)


def test_a_moment_a_second_on_the_whole_seconds_of_the_wall_clock(recording: Recording) -> None:
    recording.machine.now_ns += 300_000_000
    kept = recording.run(5)
    times = [moment.time_ns - BEGIN_NS for moment, _, _ in kept.taken]
    assert times == [second * SECOND_NS for second in (1, 2, 3, 4, 5)]
    assert [moment.time_ns for moment in kept.begun] == [BEGIN_NS + 300_000_000]
    assert (kept.finished, recording.recorder.moments, recording.recorder.gaps) == (1, 5, 0)
    assert kept.events == []
    assert [moment for moment, _ in recording.observed[1:]] == [moment for moment, _, _ in kept.taken]


def test_a_moment_that_comes_late_is_told_as_a_hole(recording: Recording) -> None:
    recording.machine.plan[3] = recording.later(4.5)
    kept = recording.run(10)
    (gap,) = kept.events
    assert (gap.kind, gap.time_ns, gap.seconds) == ("capture-gap", BEGIN_NS + 2 * SECOND_NS, 4.5)
    assert (recording.recorder.gaps, recording.recorder.gap_seconds) == (1, 4.5)
    late = next(moment for moment, events, _ in kept.taken if gap in events)
    assert late.time_ns == BEGIN_NS + 6_500_000_000
    after = [moment.time_ns for moment, _, _ in kept.taken if moment.time_ns > late.time_ns]
    assert (after[0] + OFFSET_NS) % SECOND_NS == 0, "and then it is back on the whole seconds"


def test_a_second_that_comes_a_little_late_is_no_hole(recording: Recording) -> None:
    recording.machine.plan[3] = recording.later(2.2)
    assert recording.run(6).events == []


@pytest.mark.parametrize("moved", [3600.0, -3600.0, 0.05])
def test_a_clock_that_was_set_is_told_and_begins_anew(recording: Recording, moved: float) -> None:
    def step() -> bool:
        recording.machine.now_ns += SECOND_NS
        recording.machine.offset_ns += int(moved * 1e9)
        return False

    recording.machine.plan[3] = step
    kept = recording.run(6)
    (event,) = kept.events
    assert event.kind == "clock-step"
    assert event.seconds == pytest.approx(moved)
    assert f"the wall clock was set by {moved:+.3f} s" in event.text
    assert [stepped for _, _, stepped in kept.taken].count(True) == 1
    moment = next(moment for moment, _, stepped in kept.taken if stepped)
    assert moment.readings[CORES.id].value == ("all",), "the segment that follows begins with all sources"


def test_suspend_is_told_as_what_it_was(recording: Recording) -> None:
    def sleep() -> bool:
        recording.machine.now_ns += SECOND_NS
        recording.machine.suspended_ns += 600 * SECOND_NS
        return False

    recording.machine.plan[3] = sleep
    kept = recording.run(6)
    (event,) = kept.events
    assert event.text == "the machine was suspended for 600.000 s"
    assert (event.kind, event.seconds) == ("clock-step", 0)
    assert any(stepped for _, _, stepped in kept.taken)


def test_slewing_is_no_step(recording: Recording) -> None:
    for wait in range(1, 6):

        def slew() -> bool:
            recording.machine.now_ns += SECOND_NS
            recording.machine.offset_ns += 500_000
            return False

        recording.machine.plan[wait] = slew
    kept = recording.run(5)
    assert kept.events == [] and not any(stepped for _, _, stepped in kept.taken)


def test_it_stops_when_told_with_what_happened_since(recording: Recording) -> None:
    def stop() -> bool:
        recording.machine.now_ns += 400_000_000
        recording.log("the last line")
        recording.recorder.stop()
        return False

    recording.machine.plan[4] = stop
    kept = recording.run(None)
    assert recording.machine.rung == 1
    last, events, _ = kept.taken[-1]
    assert last.time_ns == BEGIN_NS + 3_400_000_000
    assert [event.text for event in events] == ["the last line"]
    assert kept.finished == 1


def test_a_line_is_read_when_it_is_logged(recording: Recording) -> None:
    def speak() -> bool:
        recording.machine.now_ns += 250_000_000
        recording.log("stalled")
        return True

    recording.machine.plan[2] = speak
    kept = recording.run(4)
    ((moment, events),) = kept.added
    assert moment.time_ns == BEGIN_NS + 1_250_000_000
    assert list(moment.readings) == [KERNEL_LOG.id]
    assert [event.text for event in events] == ["stalled"]
    assert (moment, events) in recording.observed
    assert len(kept.taken) == 4, "and the seconds are as ever"


def test_a_call_without_a_line_adds_nothing(recording: Recording) -> None:
    recording.machine.plan[2] = recording.later(0.25, heard=True)
    assert recording.run(4).added == []


def test_lines_of_before_are_told_only_since_the_last_recording(recording: Recording) -> None:
    recording.log("known already", BEGIN_NS - 10 * SECOND_NS)
    recording.log("missed", BEGIN_NS - 2 * SECOND_NS)
    recording.log_from_ns = BEGIN_NS - 5 * SECOND_NS
    kept = recording.run(1)
    ((moment, events),) = kept.added
    assert [event.text for event in events] == ["missed"]
    assert moment.time_ns == kept.begun[0].time_ns


def test_what_has_to_be_said_of_before_is_counted_and_numbered(recording: Recording) -> None:
    recording.before = [event_of("capture-gap", -60, seconds=60.0)]
    kept = recording.run(1)
    ((_, events),) = kept.added
    assert [(event.kind, event.sequence) for event in events] == [("capture-gap", 1)]
    assert (recording.recorder.gaps, recording.recorder.gap_seconds) == (1, 60.0)


def test_what_the_output_says_of_itself_is_counted_and_numbered(recording: Recording) -> None:
    recording.kept.own = [event_of("capture-gap", 0, seconds=2.5), event_of("capture-gap", 1, seconds=0.5)]
    kept = recording.run(2)
    assert [event.sequence for event in kept.events] == [1, 2]
    assert recording.recorder.gap_seconds == 3.0


def test_the_output_gets_everything_when_it_wants_to(recording: Recording) -> None:
    recording.kept.everything = True
    assert {moment.readings[CORES.id].value for moment, _, _ in recording.run(2).taken} == {("all",)}
    assert recording.kept.begun[0].readings[CORES.id].value == ("all",)


def test_a_mistake_in_looking_does_not_end_the_recording_and_is_told_once(recording: Recording) -> None:
    def stumble(_: Moment) -> list[Event]:
        raise ValueError("no such queue")

    recording.watch = stumble
    kept = recording.run(4)
    told = [event for _, events in (*kept.added, *((m, e) for m, e, _ in kept.taken)) for event in events]
    assert [event.text for event in told] == ["events cannot be looked for: ValueError: no such queue"]
    assert (kept.finished, recording.recorder.moments, recording.recorder.gaps) == (1, 4, 1)


def test_a_hole_that_is_open_at_the_end_is_told(recording: Recording) -> None:
    kept = recording.run(3)
    assert kept.last == []
    hole = Event("capture-gap", recording.machine.now_ns, "perf", "no samples", seconds=2.0)

    def stop() -> Sequence[Event]:
        return [hole]

    recording.kept.stop = stop  # type: ignore[method-assign]
    kept = recording.run(3)
    assert [event.text for event in kept.last] == ["no samples"]
    assert recording.recorder.gap_seconds == 2.0
