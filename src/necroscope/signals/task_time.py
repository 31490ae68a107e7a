"""Which processes used a CPU, and for how long.

The only place that adds up what threads used. A thread counts for the CPU it last ran on, and threads of one
process count together, under the name that was seen first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from necroscope.sources.processes import PROCESSES, TICKS_PER_SECOND, EndedChildren, Processes, Task
from necroscope.store.segment import Segment


@dataclass(frozen=True, slots=True)
class ProcessShare:
    """A process and how much it used, as a share of one CPU."""

    process: str
    pid: int
    unit: str
    share: float

    def __str__(self) -> str:
        return f"{self.process} (pid {self.pid}){f' of {self.unit}' if self.unit else ''}"


@dataclass(slots=True)
class TaskTime:
    """A fold over readings of the processes, for one CPU."""

    cpu: int
    seconds: float = 0.0  # that the readings cover
    _used: Counter[int] = field(default_factory=Counter)  # ticks by process
    _ended: Counter[int] = field(default_factory=Counter)  # of children, by parent
    _names: dict[int, Task | EndedChildren] = field(default_factory=dict)

    def feed(self, processes: Processes, seconds: float) -> None:
        """Take the next reading, and how long before it the one before was."""
        self.seconds += seconds
        for task in processes.tasks:
            if task.core == self.cpu:
                self._used[task.pid] += task.user_ticks + task.system_ticks
                self._names.setdefault(task.pid, task)

    def feed_ended(self, processes: Processes) -> None:
        """Take the children that ended before a reading; on which CPU they ran is not known."""
        for parent in processes.ended:
            self._ended[parent.pid] += parent.ticks
            self._names.setdefault(parent.pid, parent)

    def __bool__(self) -> bool:
        return bool(self._names)

    @property
    def share(self) -> float:
        """What all processes used; more than 1 if they ran on other CPUs too."""
        return self._share(self._used.total())

    def busiest(self, count: int) -> list[ProcessShare]:
        """Return the processes that used most, of each not more than the whole CPU."""
        return [self._of(pid, min(self._share(ticks), 1.0)) for pid, ticks in self._used.most_common(count)]

    def ended(self, count: int) -> Iterator[ProcessShare]:
        """Return the parents whose ended children used most, on any CPU."""
        return (self._of(pid, self._share(ticks)) for pid, ticks in self._ended.most_common(count))

    def _share(self, ticks: int) -> float:
        return ticks / (TICKS_PER_SECOND * self.seconds) if self.seconds else 0.0

    def _of(self, pid: int, share: float) -> ProcessShare:
        name = self._names[pid]
        return ProcessShare(name.comm, pid, name.unit, share)


def over(segment: Segment, cpu: int, begin_ns: int, end_ns: int) -> TaskTime:
    """Return the time of a CPU between two times, by the fold that runs live."""
    time = TaskTime(cpu)
    before_ns = None
    for timed in segment.series(PROCESSES):
        if begin_ns < timed.time_ns <= end_ns:
            # The first reading of a recording has none before it, and says what was used in about a second.
            time.feed(timed.value, (timed.time_ns - before_ns) / 1e9 if before_ns else 1.0)
            time.feed_ended(timed.value)
        before_ns = timed.time_ns
    return time
