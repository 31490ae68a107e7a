"""Events as they happen: the recorder shows every moment it reads, and is told what it means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from necroscope.model.event import Event
from necroscope.signals.cgroup_leaks import CgroupLeaks
from necroscope.signals.episodes import Episodes
from necroscope.signals.kernel_log_events import KnownNics, match_lines
from necroscope.signals.saturated_cores import SaturatedCores
from necroscope.signals.thresholds import Thresholds
from necroscope.signals.unit_restarts import UnitRestarts
from necroscope.sources.kernel_log import KERNEL_LOG, LogLine
from necroscope.sources.nic_timeouts import NIC_TIMEOUTS
from necroscope.store.segment import Moment

MOST_LINES = 5000  # a moment, of the kernel and of programs each: who logs without end must not keep us busy


class Watch:
    """Remembers as much of the past as it takes to see that something has changed."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.saturated = SaturatedCores(thresholds)
        # Lines of programs that nobody trusts, since the first moment; None: no log was read yet.
        self.userspace_lines: int | None = None
        self.new_userspace_lines: Sequence[Event] = ()  # those of the last moment
        self._leaks = CgroupLeaks(thresholds)
        self._number = 0
        self._nics = KnownNics()
        self._begin_ns: int | None = None
        self._resets = Episodes(thresholds)  # that lines of the kernel log report
        self._timeouts: dict[tuple[str, int], int] = {}  # by device and queue
        self._unit_restarts = UnitRestarts()

    def __call__(self, moment: Moment) -> list[Event]:
        """What happened, as far as this moment tells."""
        events = list(self._lines(moment))
        events += self.saturated.look(moment)
        counted = (*self._silent_stalls(moment), *self._restarts(moment), *self._leaks.look(moment))
        for event in counted:
            self._number += 1
            events.append(replace(event, sequence=self._number))
        return events

    def _lines(self, moment: Moment) -> Iterator[Event]:
        self._nics.learn(moment)
        if self._begin_ns is None:
            self._begin_ns = moment.time_ns
        self.new_userspace_lines = ()
        log = moment.value(KERNEL_LOG)
        if log is None:
            return
        found = match_lines(log, _bounded(log.lines))
        # What the log holds from before is not counted: its lines would be counted again at every start.
        new = [event for event in found.userspace_lines if event.time_ns >= self._begin_ns]
        self.new_userspace_lines = found.userspace_lines
        self.userspace_lines = (self.userspace_lines or 0) + len(new)
        for event in found.events:
            self._nics.learn_line(event)
            named = self._nics.named(event)
            if named.kind == "nic-reset" and not named.device_driver:
                self._resets.feed(named)
            yield named

    def _silent_stalls(self, moment: Moment) -> Iterator[Event]:
        """Transmit timeouts that were counted and not logged: kernels before 6.8 print the line only once."""
        for row in moment.value(NIC_TIMEOUTS) or ():
            before = self._timeouts.get((row.device, row.queue))
            self._timeouts[row.device, row.queue] = row.timeouts
            if before is None or row.timeouts <= before:
                continue
            event = Event(
                kind="nic-reset",
                time_ns=moment.time_ns,
                rule="tx-timeout-count",
                text=f"{row.device} tx queue {row.queue}: {row.timeouts - before} transmit timeouts"
                f" counted, and no line in the kernel log",
                phase="stall",
                device=row.device,
                driver=row.driver,
                queue=row.queue,
            )
            if not self._resets.current(event):
                yield event

    def _restarts(self, moment: Moment) -> Iterator[Event]:
        for restarts in self._unit_restarts.feed(moment):
            unit = restarts.unit
            if restarts.count:
                times = "once" if restarts.count == 1 else f"{restarts.count} times"
                yield Event(
                    kind="unit-restart",
                    time_ns=min(unit.state_changed_ns or moment.time_ns, moment.time_ns),
                    rule="units",
                    text=f"{unit.name} was started again {times}; systemd counts {unit.restarts}",
                    unit=unit.name,
                    reason=unit.result,
                )


def _bounded(lines: Iterable[LogLine]) -> Iterator[LogLine]:
    """The first lines of the kernel and the first of programs, so that these cannot crowd out those."""
    left = {True: MOST_LINES, False: MOST_LINES}
    for line in lines:
        if left[line.is_by_program]:
            left[line.is_by_program] -= 1
            yield line
