"""Events of cores that stay in the kernel for seconds, while it lasts and across segments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from necroscope.model.event import Event
from necroscope.signals.cpu_saturation import GRACE_SECONDS, CpuSaturation, Run, SaturationRule
from necroscope.signals.cpu_usage import CpuUsage, CpuUsages, sum_usage
from necroscope.signals.task_time import TaskTime
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.cores import CORES
from necroscope.sources.processes import PROCESSES, Processes
from necroscope.store.segment import Moment


@dataclass(slots=True)
class _Noted:
    """What is known of a run that goes on."""

    begin_ns: int
    usage: CpuUsage
    tasks: TaskTime
    reported: Event | None = None


class SaturatedCores:
    """Reports a run when it is long enough, whenever it has doubled, and how long it was in the end.

    All under one id: whoever reads them takes the last.
    """

    def __init__(self, thresholds: Thresholds) -> None:
        self._usages = CpuUsages()
        self._saturation = CpuSaturation(SaturationRule.of(thresholds))
        self._noted: dict[int, _Noted] = {}
        self._number = 0

    def set_limits(self, thresholds: Thresholds) -> None:
        """Decide by other thresholds from now on."""
        self._saturation.rule = SaturationRule.of(thresholds)

    def look(self, moment: Moment) -> Iterator[Event]:
        """Runs that became long enough in this moment, and runs that ended with it."""
        cores = moment.value(CORES)
        if cores is None:
            return
        processes = moment.value(PROCESSES)
        for cpu, usage in self._usages.feed(moment.time_ns, cores):
            yield from self._add(cpu, usage, processes)

    def _add(self, cpu: int, usage: CpuUsage, processes: Processes | None) -> Iterator[Event]:
        load = self._saturation.rule.load(usage)
        for run in self._saturation.feed(cpu, usage.begin_ns, usage.end_ns, load):
            noted = self._noted.get(cpu)
            last = noted and noted.reported
            if run.in_kernel and noted and last and run.seconds - (last.seconds or 0) > GRACE_SECONDS:
                yield self._event(run, noted)
        going_on = self._saturation.in_kernel(cpu)
        if going_on is None:
            self._noted.pop(cpu, None)
        elif self._is_news(going_on, noted := self._note(going_on, usage, processes)):
            if not noted.reported:
                self._number += 1
            noted.reported = self._event(going_on, noted)
            yield noted.reported

    def _note(self, run: Run, usage: CpuUsage, processes: Processes | None) -> _Noted:
        noted = self._noted.get(run.cpu)
        if noted is None or noted.begin_ns != run.begin_ns:
            noted = self._noted[run.cpu] = _Noted(run.begin_ns, usage, TaskTime(run.cpu))
        else:
            noted.usage = sum_usage((noted.usage, usage))
        if processes:
            noted.tasks.feed(processes, (usage.end_ns - usage.begin_ns) / 1e9)
        return noted

    def _is_news(self, run: Run, noted: _Noted) -> bool:
        if noted.reported:
            return run.seconds >= 2 * (noted.reported.seconds or 0)
        return self._saturation.rule.is_long(run)

    def _event(self, run: Run, noted: _Noted) -> Event:
        first = next(iter(noted.tasks.busiest(1)), None)
        who = f", {first.process} (pid {first.pid}) first of all" if first and first.process else ""
        text = f"core {run.cpu} was {noted.usage.ratio('kernel'):.0%} in the kernel for {run.seconds:.0f} s"
        return Event(
            kind="core-saturated",
            time_ns=run.begin_ns,
            rule="cores",
            text=f"{text}{who}",
            sequence=noted.reported.sequence if noted.reported else self._number,
            core=run.cpu,
            process=first.process if first else "",
            pid=first.pid if first else None,
            seconds=round(run.seconds, 3),
            unit=first.unit if first else "",
        )
