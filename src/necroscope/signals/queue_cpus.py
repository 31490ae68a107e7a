"""Which CPU serves a queue of a NIC: where the map lets its interrupt fire, and where it did fire.

A stall is one of transmission: if the directions have interrupts of their own, only that of sending counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from necroscope.sources.interrupts import Interrupts
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueues
from necroscope.store.segment import Moment


@dataclass(slots=True)
class QueueCpus:
    """A fold over samples: the map of queues as it was last read. Devices go by name or bus address."""

    queues: NicQueues = ()

    def feed(self, sample: Moment) -> None:
        """Take the map of a sample, if it has one."""
        self.queues = sample.value(NIC_QUEUES) or self.queues

    def of_device(self, device: str) -> NicQueues:
        """Return all queues of a device."""
        return tuple(one for one in self.queues if device in (one.device, one.bus))

    def serving(self, device: str, queue: int | None) -> NicQueues:
        """Return the interrupts that serve a queue; none if the map does not have it."""
        return tuple(one for one in self.of_device(device) if one.queue == queue and one.direction != "rx")

    def cpus(self, device: str, queue: int | None) -> set[int]:
        """Return the CPUs that serve a queue."""
        return {cpu for one in self.serving(device, queue) for cpu in one.cores}


def over(samples: Iterable[Moment], time_ns: int | None = None) -> QueueCpus:
    """Return the map as it was last read, by a time if one is given; if it was read later only, the first."""
    cpus = QueueCpus()
    for sample in samples:
        if cpus.queues and time_ns is not None and sample.time_ns > time_ns:
            break
        cpus.feed(sample)
    return cpus


def taken_between(before: Interrupts, after: Interrupts, irqs: Collection[int]) -> dict[int, int]:
    """Return how many of some interrupts every CPU took between two readings, 0 if it took one before."""
    earlier = {(row.irq, cpu): count for row in before if row.irq in irqs for cpu, count in row.counts}
    taken: dict[int, int] = defaultdict(int)
    for row in after:
        if row.irq in irqs:
            for cpu, count in row.counts:
                was = earlier.get((row.irq, cpu), 0)
                taken[cpu] += count - was if count >= was else count  # the device was opened again: from 0 on
    return taken
