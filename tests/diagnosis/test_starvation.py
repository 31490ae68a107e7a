from __future__ import annotations

from dataclasses import replace

import pytest

from necroscope.diagnosis.starvation import Starvation, starvation
from necroscope.diagnosis.symptom import symptom_of
from necroscope.model.event import Event
from necroscope.sources.softirq_threads import SoftirqThread
from tests.diagnosis.scenes import NIC_LINE, QUEUES, delays, interrupts, scene_of, softirqs, tasks

SECONDS = 12
MOMENTS = SECONDS + 1
FULL = ["idle"] * 3 + ["system"] * 5 + ["idle"] * 4
QUIET = ["idle"] * SECONDS


def look(event: Event = NIC_LINE, core0: list[str] = FULL, **sources: object) -> Starvation:
    scene = scene_of(core0, **sources)  # type: ignore[arg-type]
    return starvation(scene, symptom_of(scene, event))


def test_the_queue_leads_to_its_interrupt_and_core() -> None:
    found = look()
    assert found.queue == QUEUES[0] and found.is_certain
    assert found.core is not None and found.core.core == 0
    assert found.core.kernel_run_seconds == pytest.approx(5)
    assert found.core.usage.ratio("system") == pytest.approx(1)
    assert found.way == "/proc/irq/39/effective_affinity_list"
    assert [core.core for core in found.others] == [1]


def test_a_transmit_stall_is_not_looked_for_on_the_receive_interrupt() -> None:
    split = (replace(QUEUES[0], direction="tx"), replace(QUEUES[0], direction="rx", irq=41, cores=(1,)))
    found = look(queues=[split, split])
    assert found.queue == split[0] and found.core is not None and found.core.core == 0


def test_a_run_that_began_before_the_window_counts_whole() -> None:
    found = look(core0=["system"] * 8 + ["idle"] * 4)
    assert found.core is not None and found.core.kernel_run_seconds == pytest.approx(8)


def test_a_run_that_was_over_before_the_window_does_not_count() -> None:
    found = look(core0=["system"] * 2 + ["idle"] * 10)
    assert found.core is not None and found.core.kernel_run_seconds == 0


def test_a_run_after_the_line_does_not_count() -> None:
    found = look(core0=["idle"] * 8 + ["system"] * 4)
    assert found.core is not None and found.core.kernel_run_seconds == 0


def test_the_wait_of_the_softirq_thread_is_seen_when_it_is_over() -> None:
    found = look(delays=delays(*[1.0] * 10, *[4.8] * 3))  # a second after the line
    assert found.core is not None and found.core.softirq_delay_seconds == pytest.approx(3.8)
    late = look(delays=delays(*[1.0] * 12, 4.8))  # too late to be of it
    assert late.core is not None and late.core.softirq_delay_seconds == pytest.approx(0)


def test_threads_of_napi_are_the_devices_not_a_cores() -> None:
    def thread(name: str, waited: float) -> tuple[SoftirqThread, ...]:
        return (SoftirqThread(20, name, None, int(waited * 1e9)),)

    own = [thread("napi/eth0-8193", waited) for waited in (*[0.0] * 8, *[4.5] * 5)]
    assert look(delays=own).napi_delay_seconds == pytest.approx(4.5)
    others = [thread("napi/eth1-8193", waited) for waited in (*[0.0] * 8, *[4.5] * 5)]
    assert look(delays=others).napi_delay_seconds is None


def test_interrupts_without_net_rx_are_counted_on_the_queues_core() -> None:
    still = softirqs(*[7] * MOMENTS)
    found = look(interrupts=interrupts(*range(MOMENTS)), softirqs=still)
    assert found.core is not None and found.core.unserved_seconds == 5
    silent = look(interrupts=interrupts(*[3] * MOMENTS), softirqs=still)
    assert silent.core is not None and silent.core.unserved_seconds is None, "masked while NAPI waits"
    served = look(interrupts=interrupts(*range(MOMENTS)), softirqs=softirqs(*range(MOMENTS)))
    assert served.core is not None and served.core.unserved_seconds == 0
    napi = [(SoftirqThread(20, "napi/eth0-8193", None, 0),)] * MOMENTS
    threaded = look(interrupts=interrupts(*range(MOMENTS)), softirqs=still, delays=napi)
    assert threaded.core is not None and threaded.core.unserved_seconds is None, "NET_RX does not serve it"


def test_who_ran_on_the_core_is_named_with_its_unit() -> None:
    found = look(tasks=tasks(*["kubelet"] * MOMENTS))
    assert found.core is not None
    (runner,) = found.core.runners
    assert (runner.process, runner.unit) == ("kubelet", "kubelet.service")
    assert runner.share == pytest.approx(1, abs=0.05)


def test_an_unknown_device_leaves_all_cores_the_fullest_first() -> None:
    found = look(replace(NIC_LINE, device="eth9"))
    assert [core.core for core in found.cores] == [0, 1] and not found.is_certain
    assert "nothing tells" in found.way


def test_without_counters_there_is_no_core() -> None:
    assert look(core0=[]).core is None
