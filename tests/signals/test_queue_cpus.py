from __future__ import annotations

from dataclasses import replace

import pytest

from necroscope.signals import queue_cpus
from necroscope.signals.queue_cpus import QueueCpus, taken_between
from necroscope.sources.interrupts import CoreCount, Interrupt, Interrupts
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueue, NicQueues
from tests.segments import BEGIN_NS
from tests.stored import SECOND_NS, moment_of

BUS = "0000:00:05.0"
QUEUES = (
    NicQueue("eth0", "ena", BUS, 0, "both", 39, "eth0-Tx-Rx-0", (0,), ()),
    NicQueue("eth0", "ena", BUS, 1, "both", 40, "eth0-Tx-Rx-1", (1,), ()),
)


@pytest.mark.parametrize(
    ("device", "queue", "cpus"),
    [("eth0", 0, {0}), ("eth0", 1, {1}), (BUS, 0, {0}), ("eth1", 0, set()), ("eth0", 7, set())],
)
def test_the_map_leads_from_a_queue_to_its_cpu(device: str, queue: int, cpus: set[int]) -> None:
    assert QueueCpus(QUEUES).cpus(device, queue) == cpus


def test_an_event_without_a_queue_has_no_cpu() -> None:
    assert QueueCpus(QUEUES).cpus("eth0", None) == set()
    assert QueueCpus(QUEUES).of_device("eth0") == QUEUES


def test_the_interrupt_of_reception_does_not_serve_a_stall() -> None:
    split = (replace(QUEUES[0], direction="tx"), replace(QUEUES[0], direction="rx", irq=41, cores=(1,)))
    assert QueueCpus(split).serving("eth0", 0) == split[:1]


def test_a_queue_may_be_served_by_several_cpus() -> None:
    assert QueueCpus((replace(QUEUES[0], cores=(0, 1)),)).cpus("eth0", 0) == {0, 1}


def test_a_queue_that_was_moved_is_where_it_was_then() -> None:
    moved: NicQueues = (replace(QUEUES[0], cores=(5,)),)
    readings = {3: QUEUES, 6: None, 9: moved}
    samples = [moment_of(at, {NIC_QUEUES: value} if value else {}) for at, value in readings.items()]

    def cpus(second: int) -> set[int]:
        return queue_cpus.over(samples, BEGIN_NS + second * SECOND_NS).cpus("eth0", 0)

    assert (cpus(0), cpus(3), cpus(8), cpus(9)) == ({0}, {0}, {0}, {5}), "before the first reading: the first"
    assert queue_cpus.over(samples).cpus("eth0", 0) == {5}
    assert queue_cpus.over([]).cpus("eth0", 0) == set()


def interrupts(**counts: tuple[int, ...]) -> Interrupts:
    """How often each CPU took an interrupt, by its number."""
    return tuple(
        Interrupt(int(irq[1:]), "", tuple(CoreCount(cpu, n) for cpu, n in enumerate(taken) if n))
        for irq, taken in counts.items()
    )


def test_what_cpus_took_of_the_interrupts_asked_for() -> None:
    before, after = (
        interrupts(i39=(5, 0), i40=(1, 1), i41=(0, 9)),
        interrupts(i39=(5, 2), i40=(4, 1), i41=(9, 9)),
    )
    assert taken_between(before, after, {39, 40}) == {0: 3, 1: 2}


def test_a_device_that_was_opened_again_counts_from_zero() -> None:
    assert taken_between(interrupts(i39=(500,)), interrupts(i39=(20,)), {39}) == {0: 20}
