"""How every core spent every second: rates computed from the recorded counters."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from necroscope.recording.segment import Segment
from necroscope.sources.cores import CORES, MODES, CoreTime


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
        before = {time.core: time for time in step.before.value}
        for after in step.after.value:
            if after.core in before:
                shares = _shares(before[after.core], after, step.before.time_ns, step.after.time_ns)
                if shares:
                    cores[after.core].append(shares)
    return cores


def _shares(before: CoreTime, after: CoreTime, begin_ns: int, end_ns: int) -> Shares | None:
    # The kernel lets idle and iowait step back by a tick now and then.
    used = {mode: max(getattr(after, mode) - getattr(before, mode), 0) for mode in MODES}
    total = sum(used.values())
    if not total:
        return None
    used["user"] += used.pop("nice")
    return Shares(begin_ns, end_ns, **{mode: ticks / total for mode, ticks in used.items()})
