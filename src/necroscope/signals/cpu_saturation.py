"""When a CPU had no free moment for seconds in a row.

The only place that decides what such a run is: how full a CPU must be, for how long, and how long a time may
be of which nothing is known. The recorder feeds intervals as they come; who looks at recorded time calls
`over`; signals/saturated_seconds.py feeds hours of it, from the native grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from necroscope.model.time_range import TimeRange
from necroscope.signals.cpu_usage import CpuUsage, sum_usage
from necroscope.signals.thresholds import Thresholds
from necroscope.store.segment import SEAM_NS

GRACE_SECONDS = 0.5  # an interval of ours is never exactly a second


class Load(Enum):
    """How full a CPU was in an interval."""

    KERNEL = "kernel"
    BUSY = "busy"  # full, and less in the kernel
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Run(TimeRange):
    """Consecutive saturated intervals of one CPU."""

    cpu: int
    in_kernel: bool  # in each of them; otherwise it was full of several things
    is_cut: bool = False  # nothing is known of the time before it or after it: it may be longer

    def usage(self, intervals: Iterable[CpuUsage]) -> CpuUsage:
        """Return how its CPU spent it, from all intervals of that CPU."""
        return sum_usage(one for one in intervals if self.contains(one.begin_ns))


@dataclass(frozen=True, slots=True)
class SaturationRule:
    """What is saturated, by the thresholds of core-saturated."""

    kernel_ratio: float
    busy_ratio: float
    seconds: float = 0.0

    @classmethod
    def of(cls, thresholds: Thresholds) -> SaturationRule:
        """Return the rule in force."""
        return cls(
            *(thresholds[f"core-saturated.{name}"] for name in ("kernel_ratio", "busy_ratio", "seconds"))
        )

    def load(self, usage: CpuUsage) -> Load:
        """Return how full a CPU was."""
        if usage.kernel / usage.total >= self.kernel_ratio:
            return Load.KERNEL
        return Load.BUSY if usage.busy / usage.total >= self.busy_ratio else Load.FREE

    def filled_by(self, usage: CpuUsage) -> str:
        """Return what filled a saturated CPU: `kernel`, `steal` or `user`."""
        if self.load(usage) is Load.KERNEL:
            return "kernel"
        return "steal" if usage.steal >= usage.user else "user"

    def is_long(self, run: Run) -> bool:
        """Whether a run is long enough."""
        return run.seconds >= self.seconds - GRACE_SECONDS


@dataclass(slots=True)
class _Cpu:
    """What is going on on one CPU."""

    known_ns: int  # since when everything is known of it
    end_ns: int  # of its last interval
    kernel_ns: int | None = None  # since when it has been in the kernel
    full_ns: int | None = None  # since when it was saturated before that


@dataclass(slots=True)
class CpuSaturation:
    """A fold over intervals of CPUs: `feed` returns the runs that are over and were long enough.

    Within a saturated time, runs in the kernel that are long enough stand alone. The shorter ones belong to
    what was full before and after them.
    """

    rule: SaturationRule
    _cpus: dict[int, _Cpu] = field(default_factory=dict)

    def feed(self, cpu: int, begin_ns: int, end_ns: int, load: Load) -> list[Run]:
        """Take the next interval of a CPU; return the runs that ended before it."""
        ended: list[Run] = []
        now = self._cpus.get(cpu)
        if now and begin_ns - now.end_ns > SEAM_NS:
            ended, now = self._close(cpu, now), None
        if now is None:
            now = self._cpus[cpu] = _Cpu(begin_ns, begin_ns)
        if load is Load.KERNEL:
            if now.kernel_ns is None:
                now.kernel_ns = begin_ns
        else:
            ended += self._end_kernel(cpu, now)
            if load is Load.FREE:
                ended += self._end_full(cpu, now, now.end_ns)
            elif now.full_ns is None:
                now.full_ns = begin_ns
        now.end_ns = end_ns
        return ended

    def in_kernel(self, cpu: int) -> Run | None:
        """Return the run in the kernel that a CPU is in, however short it is so far."""
        now = self._cpus.get(cpu)
        return None if now is None or now.kernel_ns is None else Run(now.kernel_ns, now.end_ns, cpu, True)

    def close(self) -> list[Run]:
        """Return the runs that are still going on, and forget all."""
        ended = [run for cpu, now in self._cpus.items() for run in self._close(cpu, now)]
        self._cpus.clear()
        return ended

    def _close(self, cpu: int, now: _Cpu) -> list[Run]:
        return [*self._end_kernel(cpu, now, is_cut=True), *self._end_full(cpu, now, now.end_ns, is_cut=True)]

    def _end_kernel(self, cpu: int, now: _Cpu, *, is_cut: bool = False) -> list[Run]:
        begin_ns, now.kernel_ns = now.kernel_ns, None
        if begin_ns is None:
            return []
        run = Run(begin_ns, now.end_ns, cpu, True, is_cut or begin_ns == now.known_ns)
        if self.rule.is_long(run):
            return [*self._end_full(cpu, now, begin_ns), run]
        now.full_ns = begin_ns if now.full_ns is None else now.full_ns
        return []

    def _end_full(self, cpu: int, now: _Cpu, end_ns: int, *, is_cut: bool = False) -> list[Run]:
        begin_ns, now.full_ns = now.full_ns, None
        if begin_ns is None:
            return []
        run = Run(begin_ns, end_ns, cpu, False, is_cut or begin_ns == now.known_ns)
        return [run] if self.rule.is_long(run) else []


def over(usages: Mapping[int, Sequence[CpuUsage]], rule: SaturationRule) -> list[Run]:
    """Return the runs of recorded time (`usage_by_cpu` of a segment), CPU by CPU."""
    runs = []
    for cpu, intervals in sorted(usages.items()):
        saturation = CpuSaturation(rule)
        for one in intervals:
            runs += saturation.feed(cpu, one.begin_ns, one.end_ns, rule.load(one))
        runs += saturation.close()
    return runs
