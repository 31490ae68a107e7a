"""Events as they happen: the recorder shows every moment it reads, and is told what it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from necroscope.findings.cgroup_leaks import CgroupLeaks
from necroscope.findings.kernel_log_events import match_line
from necroscope.findings.saturated_cores import SaturatedCores
from necroscope.findings.thresholds import Thresholds
from necroscope.model.event import Event
from necroscope.recording.segment import Moment
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.nic_timeouts import NIC_TIMEOUTS
from necroscope.sources.source import Source
from necroscope.sources.units import UNITS, Unit

T = TypeVar("T")

SAME_STALL_NS = 10_000_000_000  # a line and a count this close together tell of one stall
MOST_LINES = 5000  # a moment: a kernel that logs without end must not keep us busy


class Watch:
    """Remembers as much of the past as it takes to see that something has changed."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.saturated = SaturatedCores(thresholds)
        self._leaks = CgroupLeaks(thresholds)
        self._number = 0
        self._devices: dict[str, str] = {}  # by bus address
        self._reset_ns: dict[str, int] = {}  # by device
        self._timeouts: dict[tuple[str, int], int] = {}  # by device and queue
        self._units: dict[str, Unit] = {}

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
        for queue in _value(moment, NIC_QUEUES) or ():
            self._devices[queue.bus] = queue.device
        log = _value(moment, KERNEL_LOG)
        for line in log.lines[:MOST_LINES] if log else ():
            if event := match_line(line):
                if event.bus and event.device:
                    self._devices[event.bus] = event.device
                event = replace(event, device=event.device or self._devices.get(event.bus, ""))
                if event.kind == "nic-reset":
                    self._reset_ns[event.device] = event.time_ns
                yield event

    def _silent_stalls(self, moment: Moment) -> Iterator[Event]:
        """Transmit timeouts that were counted and not logged: kernels before 6.8 print the line only once."""
        for row in _value(moment, NIC_TIMEOUTS) or ():
            before = self._timeouts.get((row.device, row.queue))
            self._timeouts[row.device, row.queue] = row.timeouts
            told = moment.time_ns - self._reset_ns.get(row.device, -SAME_STALL_NS) < SAME_STALL_NS
            if before is not None and row.timeouts > before and not told:
                yield Event(
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

    def _restarts(self, moment: Moment) -> Iterator[Event]:
        for unit in _value(moment, UNITS) or ():
            before = self._units.get(unit.name)
            self._units[unit.name] = unit
            if before and (rise := (unit.restarts or 0) - (before.restarts or 0)) > 0:
                times = "once" if rise == 1 else f"{rise} times"
                yield Event(
                    kind="unit-restart",
                    time_ns=min(unit.state_changed_ns or moment.time_ns, moment.time_ns),
                    rule="units",
                    text=f"{unit.name} was started again {times}; {unit.restarts} restarts in all",
                    unit=unit.name,
                    reason=unit.result or before.result,
                )


def _value(moment: Moment, source: Source[T]) -> T | None:
    reading = moment.readings.get(source.id)
    return reading.value if reading else None
