"""How every CPU spent its time, from the counters of /proc/stat.

The only place that subtracts them. The recorder feeds the readings one by one; everyone who looks at recorded
time calls `usage_by_cpu`. Hours are read in Rust, by the same rule (native/core/src/core_times.rs).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter

from necroscope.signals.counter_steps import rise
from necroscope.sources.cores import CORES, Cores, CoreTime
from necroscope.store.segment import Segment

TICKS = ("total", "user", "system", "softirq", "irq", "steal", "iowait", "idle")
_ticks_of = attrgetter(*TICKS)


@dataclass(slots=True)  # not frozen: there are 96 a second, and each would take ten times as long (measured)
class CpuUsage:
    """How one CPU spent an interval, in clock ticks."""

    begin_ns: int
    end_ns: int
    total: int  # never 0
    user: int  # nice included
    system: int
    softirq: int
    irq: int
    steal: int
    iowait: int
    idle: int

    @property
    def kernel(self) -> int:
        """Time in the kernel for whatever reason."""
        return self.system + self.softirq + self.irq

    @property
    def busy(self) -> int:
        """Time not free for other work."""
        return self.total - self.free

    @property
    def free(self) -> int:
        """Time free for other work."""
        return self.idle + self.iowait

    def ratio(self, mode: str) -> float:
        """Return the share of a mode: a field or a property of this class."""
        return float(getattr(self, mode) / self.total)


@dataclass(slots=True)
class CpuUsages:
    """A fold over readings of /proc/stat."""

    _before: dict[int, CoreTime] = field(default_factory=dict)
    _before_ns: int = 0

    def feed(self, time_ns: int, cores: Cores) -> list[tuple[int, CpuUsage]]:
        """Take the next reading; return how every CPU spent the time since the one before.

        A CPU that was offline at either of them is left out.
        """
        before, begin_ns = self._before, self._before_ns
        self._before, self._before_ns = {time.core: time for time in cores}, time_ns
        return [
            (time.core, usage)
            for time in cores
            if time.core in before and (usage := _subtract(before[time.core], time, begin_ns, time_ns))
        ]

    def forget(self) -> None:
        """Forget the last reading, so that the next one is compared with none."""
        self._before = {}


def usage_by_cpu(segment: Segment) -> dict[int, list[CpuUsage]]:
    """Return the intervals of every CPU, by the fold that runs live."""
    usages = CpuUsages()
    by_cpu: dict[int, list[CpuUsage]] = defaultdict(list)
    for timed in segment.series(CORES):
        for cpu, usage in usages.feed(timed.time_ns, timed.value):
            by_cpu[cpu].append(usage)
    return by_cpu


def sum_usage(usages: Iterable[CpuUsage]) -> CpuUsage:
    """Return intervals of one CPU as a single one; they are in order, and there is at least one."""
    intervals = list(usages)
    ticks = map(sum, zip(*map(_ticks_of, intervals), strict=True))
    return CpuUsage(intervals[0].begin_ns, intervals[-1].end_ns, *ticks)


def _subtract(before: CoreTime, after: CoreTime, begin_ns: int, end_ns: int) -> CpuUsage | None:
    # The kernel lets idle and iowait step back by a tick now and then. Written out: 96 CPUs, every second.
    user = rise(before.user, after.user) + rise(before.nice, after.nice)
    system = rise(before.system, after.system)
    softirq = rise(before.softirq, after.softirq)
    irq = rise(before.irq, after.irq)
    steal = rise(before.steal, after.steal)
    iowait = rise(before.iowait, after.iowait)
    idle = rise(before.idle, after.idle)
    total = user + system + softirq + irq + steal + iowait + idle
    if not total:
        return None
    return CpuUsage(begin_ns, end_ns, total, user, system, softirq, irq, steal, iowait, idle)
