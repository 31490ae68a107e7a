"""The loop that never ends: read, look for events, hand on, once a second and when the kernel speaks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from necroscope.agent.log_clock import LogClock
from necroscope.agent.output import Output
from necroscope.agent.wakeup import Bell
from necroscope.model.event import Event
from necroscope.model.reading import Reading
from necroscope.model.timestamp import SECOND_NS
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.store.clock import Anchor
from necroscope.store.sampler import Sampler
from necroscope.store.segment import MAX_STEP_NS, Moment
from necroscope.store.trust_programs import trusting_programs

Watch = Callable[[Moment], Sequence[Event]]
Observe = Callable[[Moment, Sequence[Event]], None]


@dataclass(frozen=True, slots=True)
class Parts:
    """What a recorder is put together from."""

    sampler: Sampler
    log_clock: LogClock
    bell: Bell
    watch: Watch  # finds events in a moment
    observe: Observe  # sees every moment and its events
    log_from_ns: int  # lines that were logged before are known already
    trusts_programs: Callable[[], bool] = lambda: False  # whether their lines count as the kernel's own
    before: Sequence[Event] = ()  # what has to be said of the time before


class Recorder:
    """Reads a host until it is told to stop."""

    def __init__(self, parts: Parts) -> None:
        self.moments = 0
        self.gaps = 0
        self.gap_seconds = 0.0
        self.gaps_before = 0  # of them: those before the start
        self.gap_seconds_before = 0.0
        self._parts = parts
        self._anchor: Anchor | None = None
        self._last_ns = 0
        self._stopping = False
        self._sequence = 0
        self._watch_error = ""

    def stop(self) -> None:
        """End after this second; safe in a signal handler."""
        self._stopping = True
        self._parts.bell.ring()

    def first_moment(self) -> Moment:
        """All sources, before anything is recorded: what the host is must be known to begin."""
        self._parts.log_clock.mark()
        moment = self._calibrated(self._parts.sampler.read(everything=True))
        return _without_old_lines(moment, self._parts.log_from_ns)

    def run(self, first: Moment, output: Output, seconds: float | None = None) -> None:
        """Record into an output, for some seconds or until stopped."""
        self._anchor = self._parts.log_clock.anchor()
        self._last_ns = first.time_ns
        output.begin(first, self._anchor)
        try:
            self._announce(output, first)
            self._loop(output, first.time_ns + int(seconds * 1e9) if seconds is not None else None)
        finally:
            output.finish([self.note(event) for event in output.stop()])

    def _loop(self, output: Output, end_ns: int | None) -> None:
        due_ns = self._next_second()
        while not self._stopping and (end_ns is None or due_ns < end_ns - SECOND_NS // 2):
            if self._parts.bell.wait(due_ns):
                self._hear(output)
            if time.monotonic_ns() >= due_ns:
                self._tick(output)
                due_ns = self._next_second()
        while not self._stopping and time.monotonic_ns() < due_ns:
            if self._parts.bell.wait(due_ns):
                self._hear(output)
        self._tick(output, is_last=True)  # the last second, or what there is of it

    def note(self, event: Event) -> Event:
        """Count an event about the recording itself, and give it a number."""
        self._sequence += 1
        if event.kind == "capture-gap":
            self.gaps += 1
            self.gap_seconds += event.seconds or 0.0
        return replace(event, sequence=self._sequence)

    def _next_second(self) -> int:
        """The next whole second of the wall clock: every interval then lies within one second."""
        offset_ns = self._anchor.offset_ns if self._anchor else 0
        soonest_ns = max(time.monotonic_ns(), self._last_ns + SECOND_NS // 2)
        return soonest_ns + SECOND_NS - (soonest_ns + offset_ns) % SECOND_NS

    def _tick(self, output: Output, *, is_last: bool = False) -> None:
        parts = self._parts
        parts.log_clock.mark()
        anchor = parts.log_clock.anchor()
        before, self._anchor = self._anchor, anchor
        stepped = before is not None and anchor.stepped_from(before)
        own = [self.note(event) for event in output.tick()]
        # Also at the end: what is read once a minute says nothing about a minute with one reading.
        everything = stepped or is_last or output.wants_everything()
        moment = self._calibrated(parts.sampler.read(everything=everything))
        if stepped and before:
            own.append(self.note(_step(before, anchor, moment.time_ns)))
        if moment.time_ns - self._last_ns > MAX_STEP_NS:
            own.append(self.note(_hole(self._last_ns, moment.time_ns)))
        self._last_ns = moment.time_ns
        events = [*own, *self._look(moment)]
        if is_last and not stepped:
            output.take_last(moment, events, anchor)
        else:
            output.take(moment, events, anchor, stepped=stepped)
        self.moments += 1
        parts.observe(moment, events)

    def _look(self, moment: Moment) -> Sequence[Event]:
        """What happened in a moment. A mistake in looking must not end the recording, and is told once."""
        try:
            return self._parts.watch(moment)
        except Exception as error:  # noqa: BLE001 - counters and samples go on
            what = f"events cannot be looked for: {type(error).__name__}: {error}"
            if what == self._watch_error:
                return ()
            self._watch_error = what
            return [self.note(Event("capture-gap", moment.time_ns, "watch", what))]

    def _hear(self, output: Output) -> None:
        """The kernel logged something: read it now, it may be what a dump waits for."""
        moment = self._calibrated(self._parts.sampler.read_only(KERNEL_LOG))
        log: Reading[Any] = moment.readings[KERNEL_LOG.id]
        if log.value and log.value.lines:
            events = self._look(moment)
            output.add(moment, events)
            self._parts.observe(moment, events)

    def _announce(self, output: Output, first: Moment) -> None:
        """Lines that were logged since the last recording ended belong to this one."""
        log: Reading[Any] | None = first.readings.get(KERNEL_LOG.id)
        before = [self.note(event) for event in self._parts.before]
        self.gaps_before, self.gap_seconds_before = self.gaps, self.gap_seconds
        events = [*before, *self._look(first)]
        if log and (events or (log.value and log.value.lines)):
            output.add(replace(first, readings={KERNEL_LOG.id: log}), events)
        self._parts.observe(first, events)

    def _calibrated(self, moment: Moment) -> Moment:
        log = moment.readings.get(KERNEL_LOG.id)
        if log is None:
            return moment
        calibrated = {**moment.readings, KERNEL_LOG.id: self._parts.log_clock.calibrated(log)}
        moment = replace(moment, readings=calibrated)
        return trusting_programs(moment) if self._parts.trusts_programs() else moment


def _without_old_lines(moment: Moment, from_ns: int) -> Moment:
    log = moment.readings.get(KERNEL_LOG.id)
    if log is None or log.value is None:
        return moment
    lines = tuple(line for line in log.value.lines if line.time_ns >= from_ns)
    return replace(
        moment,
        readings={**moment.readings, KERNEL_LOG.id: Reading(replace(log.value, lines=lines, lost=0))},
    )


def _step(before: Anchor, after: Anchor, now_ns: int) -> Event:
    """The wall clock was set, or the machine slept."""
    slept_ns = after.suspended_ns - before.suspended_ns
    moved_ns = after.offset_ns - before.offset_ns - slept_ns
    parts = [f"the machine was suspended for {slept_ns / 1e9:.3f} s"] if slept_ns > SECOND_NS // 100 else []
    if abs(moved_ns) > SECOND_NS // 100:
        parts.append(f"the wall clock was set by {moved_ns / 1e9:+.3f} s")
    return Event("clock-step", now_ns, "clock", " and ".join(parts), seconds=moved_ns / 1e9)


def _hole(last_ns: int, now_ns: int) -> Event:
    seconds = round((now_ns - last_ns) / 1e9, 3)
    text = f"no counters for {seconds} s: the recorder did not run"
    return Event("capture-gap", last_ns, "counters", text, seconds=seconds)
