"""Says what a driver would, when and only when the core of its queue has been in the kernel for 5 s on end.

Since Linux 6.5 a core full of kernel work does serve its network queues, so that the driver of this machine
has nothing to complain about. This stands for one on an older kernel: it reads the core's times every 0.1 s,
and once all of the last 5 s were kernel time, it writes the line of the driver (`nic_stalls`). It writes one
for each such stretch, and keeps the counters that it went by.

Kernel time is system, irq and softirq time; what the hypervisor took (steal) counts for nothing. "All" means
95 % of each second, wherever that second begins, because the kernel accounts by ticks: a core that does
something else for 50 ms of every second is taken for one that never leaves the kernel. It does not look at
the queue: whether packets wait there is not known to it.

    with queue_watcher(queue) as watcher:
        watcher.stalls

Needs    root, for the line
Costs    ten reads of /proc/stat a second: 0.1 % of a core for each core there is (measured on two)
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lab.faults.nic_stalls import Stall, write_stall
from necroscope.sources.nic_queues import NicQueue

THRESHOLD_SECONDS = 5.0
KERNEL_RATIO = 0.95
EVERY_SECONDS = 0.1
SLICE_SECONDS = 1.0
# Places among the fields of a core in /proc/stat. Guest time, behind steal, is in user time already.
SYSTEM, IDLE, WAITS_FOR_DISK, IRQ, SOFTIRQ, STEAL = 2, 3, 4, 5, 6, 7


class WatcherError(RuntimeError):
    """The watcher has ended early; its cause says why."""


@dataclass(frozen=True, slots=True)
class CoreTimes:
    """What a core has done until a moment, in ticks."""

    time_ns: int  # CLOCK_MONOTONIC
    kernel: int
    total: int  # without what was stolen
    idle: int = 0

    def kernel_ratio(self, later: CoreTimes) -> float:
        """The share of kernel time from here to a later moment."""
        return (later.kernel - self.kernel) / max(1, later.total - self.total)

    def busy_ratio(self, later: CoreTimes) -> float:
        """The share of any work from here to a later moment."""
        return 1 - (later.idle - self.idle) / max(1, later.total - self.total)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some time of a core of which every second was in the kernel."""

    begin: CoreTimes
    end: CoreTimes

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return (self.end.time_ns - self.begin.time_ns) / 1e9


@dataclass(frozen=True, slots=True)
class SeenStall:
    """A line that was written, and the evidence that it was due."""

    stall: Stall
    stretch: Stretch


@dataclass(slots=True)
class KernelRun:
    """Follows one core. Does no I/O; `stretch` may be read from any thread, and is never changed in place."""

    times: deque[CoreTimes] = field(default_factory=deque)
    stretch: Stretch | None = None  # that goes on
    is_told: bool = False

    def take(self, now: CoreTimes) -> Stretch | None:
        """A stretch, once, when it has reached the threshold."""
        self.times.append(now)
        while len(self.times) > 1 and now.time_ns - self.times[1].time_ns >= SLICE_SECONDS * 1e9:
            self.times.popleft()
        first = self.times[0]
        if now.time_ns - first.time_ns < SLICE_SECONDS * 1e9 or first.kernel_ratio(now) < KERNEL_RATIO:
            self.stretch, self.is_told = None, False
            return None
        self.stretch = Stretch(self.stretch.begin if self.stretch else first, now)
        if self.is_told or self.stretch.seconds < THRESHOLD_SECONDS:
            return None
        self.is_told = True
        return self.stretch

    def seconds(self) -> float:
        """How long the stretch has lasted that goes on."""
        stretch = self.stretch
        return stretch.seconds if stretch else 0.0


@dataclass(slots=True)
class QueueWatcher:
    """One at work."""

    queue: NicQueue
    run: KernelRun = field(default_factory=KernelRun)
    stalls: list[SeenStall] = field(default_factory=list)
    failure: Exception | None = None

    def check(self) -> None:
        """Raise WatcherError if it watches no more."""
        if self.failure:
            raise WatcherError(f"the watcher of the queue has ended: {self.failure}") from self.failure


@contextmanager
def queue_watcher(queue: NicQueue) -> Iterator[QueueWatcher]:
    """Watch the core of a queue until it is left."""
    watcher = QueueWatcher(queue)
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(watcher, ended), name="queue-watcher")
    thread.start()
    try:
        yield watcher
    finally:
        ended.set()
        thread.join()


def read_core(core: int) -> CoreTimes:
    """The times of a core, now."""
    with Path("/proc/stat").open() as rows:
        fields = next(row.split()[1:] for row in rows if row.startswith(f"cpu{core} "))
    return core_times(time.monotonic_ns(), [int(one) for one in fields])


def core_times(time_ns: int, fields: list[int]) -> CoreTimes:
    """What the fields of a core in /proc/stat say."""
    return CoreTimes(
        time_ns,
        kernel=fields[SYSTEM] + fields[IRQ] + fields[SOFTIRQ],
        total=sum(fields[:STEAL]),
        idle=fields[IDLE] + fields[WAITS_FOR_DISK],
    )


def _watch(watcher: QueueWatcher, ended: threading.Event) -> None:
    try:
        while not ended.wait(EVERY_SECONDS):
            if stretch := watcher.run.take(read_core(watcher.queue.cores[0])):
                watcher.stalls.append(SeenStall(write_stall(watcher.queue), stretch))
    # Nobody sees what a thread raises: `check` tells.
    except Exception as error:  # noqa: BLE001
        watcher.failure = error
