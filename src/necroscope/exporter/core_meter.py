"""The fullest core of the last second, and how long cores were saturated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from necroscope.exporter.families import Sample
from necroscope.signals.cpu_saturation import Load, SaturationRule
from necroscope.signals.cpu_usage import CpuUsages
from necroscope.sources.cores import MODES, Cores
from necroscope.sources.processes import TICKS_PER_SECOND

Ticks = tuple[int, ...]  # in the order of MODES

ticks_of = attrgetter(*MODES)
# The kernel lets idle and iowait step back a little; a core that was offline may begin again at 0.
BEGAN_AGAIN_TICKS = 3 * TICKS_PER_SECOND


@dataclass(slots=True)
class CoreMeter:
    """Counts as core-saturated decides, but second by second: there, some in a row are needed.

    A second in the kernel is `kernel`; of the other full ones, those that the hypervisor took more of
    than user space are `steal`, and the rest are `user`.
    """

    rule: SaturationRule
    per_core: bool = False
    saturated_seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("kernel", "user", "steal"), 0.0)
    )
    _usages: CpuUsages = field(default_factory=CpuUsages)
    _never_less: dict[int, Ticks] = field(default_factory=dict)  # what per-core counters show
    _cores: int = 0
    _saturated_now: int = 0
    _most: tuple[float, float, float, float] | None = None  # kernel, busy, softirq, steal
    _mean_busy: float = 0.0
    _busiest: int = 0  # the core of the largest busy share; of several alike the first

    def observe(self, time_ns: int, cores: Cores) -> None:
        """Take the counters of a moment."""
        self._count(time_ns, cores)
        self._cores = len(cores)
        if self.per_core:
            self._never_less = {time.core: self._at_least(time.core, ticks_of(time)) for time in cores}

    def forget(self) -> None:
        """There is no reading: what was last seen is no longer now."""
        self._usages.forget()
        self._most, self._cores = None, 0

    def _count(self, time_ns: int, cores: Cores) -> None:
        shares = []
        self._saturated_now = 0
        most_busy = -1.0
        for core, usage in self._usages.feed(time_ns, cores):
            total = usage.total
            busy = usage.busy / total
            shares.append((usage.kernel / total, busy, usage.softirq / total, usage.steal / total))
            if busy > most_busy:
                most_busy, self._busiest = busy, core
            if self.rule.load(usage) is not Load.FREE:
                self._saturated_now += 1
                self.saturated_seconds[self.rule.filled_by(usage)] += (usage.end_ns - usage.begin_ns) / 1e9
        self._most = None
        if shares:
            kernels, busies, softirqs, steals = zip(*shares, strict=True)
            self._most = (max(kernels), max(busies), max(softirqs), max(steals))
            self._mean_busy = sum(busies) / len(busies)

    def _at_least(self, core: int, now: Ticks) -> Ticks:
        """A counter that steps back would look as if the machine had been restarted."""
        shown = self._never_less.get(core)
        if shown is None or any(old - new > BEGAN_AGAIN_TICKS for old, new in zip(shown, now, strict=True)):
            return now
        return tuple(map(max, shown, now))

    def samples(self) -> Iterator[Sample]:
        """What there is to say; nothing without a reading."""
        if not self._cores:
            return
        yield Sample("necroscope_cores", (), self._cores)
        for mode, seconds in self.saturated_seconds.items():
            yield Sample("necroscope_core_saturated_seconds_total", (mode,), seconds)
        if self._most:
            for what, share in zip(("kernel", "busy", "softirq", "steal"), self._most, strict=True):
                yield Sample(f"necroscope_core_{what}_ratio_max", (), share)
            yield Sample("necroscope_core_busy_ratio_mean", (), self._mean_busy)
            yield Sample("necroscope_core_busiest", (), self._busiest)
            yield Sample("necroscope_cores_saturated", (), self._saturated_now)
        for core, ticks in self._never_less.items() if self.per_core else ():
            for mode, count in zip(MODES, ticks, strict=True):
                yield Sample("necroscope_core_seconds_total", (str(core), mode), count / TICKS_PER_SECOND)
