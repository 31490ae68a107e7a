"""How every core spent every second: rates computed from the recorded counters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from necroscope.sources.cores import CORES, Cores, CoreTime
from necroscope.store.segment import Segment, Timed


@dataclass(frozen=True, slots=True)
class Shares:
    """How one core spent one interval, as ratios of its time."""

    begin_ns: int
    end_ns: int
    user: float  # nice included
    system: float
    softirq: float
    irq: float
    steal: float
    iowait: float
    idle: float

    @property
    def kernel(self) -> float:
        """Time in the kernel for whatever reason."""
        return self.system + self.softirq + self.irq

    @property
    def busy(self) -> float:
        """Time not free for other work."""
        return self.user + self.kernel + self.steal

    @property
    def free(self) -> float:
        """Time free for other work."""
        return self.idle + self.iowait


def shares_by_core(segment: Segment) -> dict[int, list[Shares]]:
    """The intervals of every core. A core that was offline at one end of an interval is left out there."""
    cores: dict[int, list[Shares]] = defaultdict(list)
    for step in segment.steps(CORES):
        for core, shares in shares_between(step.before, step.after):
            cores[core].append(shares)
    return cores


def shares_between(before: Timed[Cores], after: Timed[Cores]) -> Iterator[tuple[int, Shares]]:
    """How every core that was online at both moments spent the time between them."""
    earlier = {time.core: time for time in before.value}
    for time in after.value:
        if time.core in earlier:
            shares = _shares(earlier[time.core], time, before.time_ns, after.time_ns)
            if shares:
                yield time.core, shares


def _shares(before: CoreTime, after: CoreTime, begin_ns: int, end_ns: int) -> Shares | None:
    # The kernel lets idle and iowait step back by a tick now and then. Written out: 96 cores, every second.
    user = max(after.user - before.user, 0) + max(after.nice - before.nice, 0)
    system = max(after.system - before.system, 0)
    softirq = max(after.softirq - before.softirq, 0)
    irq = max(after.irq - before.irq, 0)
    steal = max(after.steal - before.steal, 0)
    iowait = max(after.iowait - before.iowait, 0)
    idle = max(after.idle - before.idle, 0)
    total = user + system + softirq + irq + steal + iowait + idle
    if not total:
        return None
    return Shares(
        begin_ns,
        end_ns,
        user / total,
        system / total,
        softirq / total,
        irq / total,
        steal / total,
        iowait / total,
        idle / total,
    )
