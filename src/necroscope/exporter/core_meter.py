"""The fullest core of the last second, and how long cores were saturated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter, sub

from necroscope.exporter.families import Sample
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

    kernel_ratio: float
    busy_ratio: float
    per_core: bool = False
    saturated_seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("kernel", "user", "steal"), 0.0)
    )
    _before: dict[int, Ticks] = field(default_factory=dict)
    _before_ns: int = 0
    _never_less: dict[int, Ticks] = field(default_factory=dict)  # what per-core counters show
    _cores: int = 0
    _saturated_now: int = 0
    _most: tuple[float, float, float, float] | None = None  # kernel, busy, softirq, steal
    _mean_busy: float = 0.0
    _busiest: int = 0  # the core of the largest busy share; of several alike the first

    def observe(self, time_ns: int, cores: Cores) -> None:
        """Take the counters of a moment."""
        ticks = {time.core: ticks_of(time) for time in cores}
        if self._before:
            self._compare(ticks, (time_ns - self._before_ns) / 1e9)
        self._before, self._before_ns, self._cores = ticks, time_ns, len(ticks)
        if self.per_core:
            self._never_less = {core: self._at_least(core, now) for core, now in ticks.items()}

    def forget(self) -> None:
        """There is no reading: what was last seen is no longer now."""
        self._before, self._most, self._cores = {}, None, 0

    def _compare(self, ticks: dict[int, Ticks], seconds: float) -> None:
        shares = []
        saturated = 0
        most_busy = -1.0
        for core, now in ticks.items():
            before = self._before.get(core)
            if before is None:
                continue
            used = list(map(sub, now, before))
            if min(used) < 0:
                used = [max(one, 0) for one in used]
            total = sum(used)
            if not total:
                continue
            user, nice, system, idle, iowait, irq, softirq, steal = used
            kernel, busy = (system + irq + softirq) / total, 1 - (idle + iowait) / total
            shares.append((kernel, busy, softirq / total, steal / total))
            if busy > most_busy:
                most_busy, self._busiest = busy, core
            if kernel >= self.kernel_ratio:
                mode = "kernel"
            elif busy >= self.busy_ratio:
                mode = "steal" if steal >= user + nice else "user"
            else:
                continue
            saturated += 1
            self.saturated_seconds[mode] += seconds
        self._saturated_now = saturated
        if shares:
            kernels, busies, softirqs, steals = zip(*shares, strict=True)
            self._most = (max(kernels), max(busies), max(softirqs), max(steals))
            self._mean_busy = sum(busies) / len(busies)
        else:
            self._most = None

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
