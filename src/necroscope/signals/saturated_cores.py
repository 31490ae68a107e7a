"""Cores that stay in the kernel for seconds, seen while it lasts and across segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from necroscope.model.event import Event
from necroscope.signals.cpu_usage import Shares, shares_between
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.cores import CORES, Cores
from necroscope.sources.processes import PROCESSES, Processes
from necroscope.store.segment import Moment, Timed

GRACE_SECONDS = 0.5  # an interval of ours is never exactly a second


@dataclass(slots=True)
class _Run:
    """Consecutive seconds of one core in the kernel."""

    begin_ns: int
    end_ns: int
    kernel: float = 0.0  # the sum of all shares
    intervals: int = 0
    ticks: Counter[tuple[str, int, str]] = field(default_factory=Counter)  # by process name, pid and unit
    told: Event | None = None

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e9


class SaturatedCores:
    """Tells of a run when it is long enough, whenever it has doubled, and how long it was in the end.

    All under one id: whoever reads them takes the last.
    """

    def __init__(self, thresholds: Thresholds) -> None:
        self.thresholds = thresholds
        self._before: Timed[Cores] | None = None
        self._runs: dict[int, _Run] = {}
        self._number = 0

    def look(self, moment: Moment) -> Iterator[Event]:
        """Runs that became long enough in this moment, and runs that ended with it."""
        reading = moment.readings.get(CORES.id)
        if reading is None or reading.value is None:
            return
        after = Timed(moment.time_ns, reading.value)
        before, self._before = self._before, after
        if before is None:
            return
        tasks = moment.readings.get(PROCESSES.id)
        for core, shares in shares_between(before, after):
            yield from self._add(core, shares, tasks.value if tasks else None)

    def _add(self, core: int, shares: Shares, processes: Processes | None) -> Iterator[Event]:
        in_kernel = shares.kernel >= self.thresholds["core-saturated.kernel_ratio"]
        run = self._runs.get(core)
        if run and (not in_kernel or run.end_ns < shares.begin_ns):  # or it was offline meanwhile
            if run.told and run.seconds - (run.told.seconds or 0) > GRACE_SECONDS:
                yield self._event(core, run)
            del self._runs[core]
        if not in_kernel:
            return
        run = self._runs.setdefault(core, _Run(shares.begin_ns, shares.end_ns))
        run.end_ns = shares.end_ns
        run.kernel += shares.kernel
        run.intervals += 1
        for task in processes.tasks if processes else ():
            if task.core == core:
                run.ticks[task.comm, task.pid, task.unit] += task.user_ticks + task.system_ticks
        if not run.told:
            if run.seconds < self.thresholds["core-saturated.seconds"] - GRACE_SECONDS:
                return
            self._number += 1
        elif run.seconds < 2 * (run.told.seconds or 0):
            return
        run.told = self._event(core, run)
        yield run.told

    def _event(self, core: int, run: _Run) -> Event:
        process, pid, unit = run.ticks.most_common(1)[0][0] if run.ticks else ("", None, "")
        who = f", {process} (pid {pid}) first of all" if process else ""
        share = run.kernel / run.intervals
        return Event(
            kind="core-saturated",
            time_ns=run.begin_ns,
            rule="cores",
            text=f"core {core} was {share:.0%} in the kernel for {run.seconds:.0f} s{who}",
            sequence=run.told.sequence if run.told else self._number,
            core=core,
            process=process,
            pid=pid,
            seconds=round(run.seconds, 3),
            unit=unit,
        )
