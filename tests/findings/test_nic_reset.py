from __future__ import annotations

from dataclasses import replace

import pytest

from necroscope.findings.nic_reset import ADVICE, nic_reset
from necroscope.model.advice import Advice
from necroscope.model.finding import Finding, Severity
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog
from necroscope.sources.nic_counters import NIC_COUNTERS, Counter, DeviceCounters
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueue
from necroscope.sources.nic_timeouts import NIC_TIMEOUTS, QueueTimeouts
from tests.segments import evidence, kernel_log, look, segment_of

ENA = (
    "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000). "
    "Time since last napi 5180000 usec. napi scheduled: 1"
)
DONE = "ena 0000:00:05.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA)"
WATCHDOG = "NETDEV WATCHDOG: eth1 (igb): transmit queue 2 timed out"
QUEUE = NicQueue("eth0", "ena", "0000:00:05.0", 5, "both", 41, "eth0-Tx-Rx-5", (37,), ())


def test_a_stall_names_device_queue_core_and_time() -> None:
    segment = segment_of({KERNEL_LOG: [kernel_log(ENA, DONE)], NIC_QUEUES: [(QUEUE,)]})
    (finding,) = look(nic_reset, segment)
    facts = evidence(finding)
    assert finding.severity is Severity.CRITICAL
    assert finding.summary == "eth0 (ena) stalled or was reset on queue 5: a line in the kernel log"
    assert (facts["queue"], facts["core of queue 5 (irq 41)"], facts["longest stall reported"]) == (
        5,
        "37",
        5.18,
    )
    assert "NAPI scheduled but not run" in facts
    assert facts["ena-tx-queue-paused"] == ENA
    assert (finding.subject, finding.remedy) == ("37", "move-interrupts")


def test_what_no_core_can_help_asks_for_no_remedy() -> None:
    (unknown,) = look(nic_reset, segment_of({KERNEL_LOG: [kernel_log(ENA)]}))
    assert (unknown.subject, unknown.remedy) == ("", "")
    several = segment_of({KERNEL_LOG: [kernel_log(ENA)], NIC_QUEUES: [(replace(QUEUE, cores=(1, 2)),)]})
    assert [finding.remedy for finding in look(nic_reset, several)] == [""]


def test_every_device_gets_a_finding() -> None:
    found = look(nic_reset, segment_of({KERNEL_LOG: [kernel_log(ENA, WATCHDOG, ENA)]}))
    assert [finding.summary.split(" stalled")[0] for finding in found] == ["eth0 (ena)", "eth1 (igb)"]


def test_a_line_without_interface_is_joined_by_its_bus_address() -> None:
    lost = "ena 0000:00:05.0: ENA admin queue is not in running state!"
    (finding,) = look(nic_reset, segment_of({KERNEL_LOG: [kernel_log(ENA, lost)]}))
    assert evidence(finding)["lines"] == 2


def test_a_line_of_a_program_is_no_evidence() -> None:
    segment = segment_of({KERNEL_LOG: [kernel_log(ENA, facility=1)], NIC_QUEUES: [(QUEUE,)]})
    assert look(nic_reset, segment) == []


def test_a_line_of_a_program_that_is_trusted_counts_as_the_kernels_own_and_is_marked() -> None:
    def found(log: KernelLog) -> Finding:
        (finding,) = look(nic_reset, segment_of({KERNEL_LOG: [log], NIC_QUEUES: [(QUEUE,)]}))
        return finding

    trusted = found(kernel_log(ENA, facility=1, trusts_programs=True))
    assert trusted.severity is found(kernel_log(ENA)).severity is Severity.CRITICAL
    assert "ena-tx-queue-paused (written by a program)" in evidence(trusted)
    assert trusted.summary.endswith("a line in the kernel log, written by a program")


@pytest.mark.parametrize("facility", [0, 1])
def test_a_line_of_a_driver_that_the_device_does_not_have_is_marked_and_a_warning_at_most(
    facility: int,
) -> None:
    log = kernel_log(ENA, "ena 0000:00:05.0 eth0: Reset attempt failed. Can not reset the device")
    log = replace(
        log, lines=tuple(replace(line, facility=facility) for line in log.lines), trusts_programs=True
    )
    virtio = replace(QUEUE, driver="virtio_net", bus="virtio2")
    (finding,) = look(nic_reset, segment_of({KERNEL_LOG: [log], NIC_QUEUES: [(virtio,)]}))
    assert finding.severity is Severity.WARNING
    assert "its driver is virtio_net, not ena" in finding.summary
    assert evidence(finding)["driver of eth0"] == "virtio_net, and the line is one of ena"
    assert (finding.subject, finding.remedy) == ("", ""), "nothing is moved because of it"


def test_the_driver_of_a_device_is_known_by_its_bus_address_too() -> None:
    # The line is from before the device was renamed, and another one has its name now.
    renamed, other = replace(QUEUE, device="ens5"), replace(QUEUE, driver="igb", bus="0000:00:06.0")
    segment = segment_of({KERNEL_LOG: [kernel_log(ENA)], NIC_QUEUES: [(renamed, other)]})
    (finding,) = look(nic_reset, segment)
    assert finding.severity is Severity.CRITICAL and "driver is" not in finding.summary


def test_age_matters() -> None:
    def severities(hours: float) -> list[Severity]:
        segment = segment_of({KERNEL_LOG: [kernel_log(ENA, age_seconds=hours * 3600)]})
        return [finding.severity for finding in look(nic_reset, segment)]

    assert severities(0.5) == [Severity.CRITICAL]
    assert severities(5) == [Severity.WARNING]
    assert severities(30) == []


def test_a_log_in_a_recorded_tree_has_no_age() -> None:
    segment = segment_of({KERNEL_LOG: [kernel_log(ENA, age_seconds=90 * 3600)]}, is_live=False)
    assert len(look(nic_reset, segment)) == 1


def test_a_good_end_alone_is_no_trouble() -> None:
    assert not look(nic_reset, segment_of({KERNEL_LOG: [kernel_log(DONE, "eth0: Link is up")]}))


def test_counters_that_rise_while_looking() -> None:
    def device(resets: int, timeouts: int) -> tuple[DeviceCounters, ...]:
        return (
            DeviceCounters(
                "eth0",
                "ena",
                "2.10.0",
                "",
                (Counter("total_resets", resets), Counter("tx_timeout", timeouts)),
            ),
        )

    quiet = kernel_log()
    rising = segment_of({KERNEL_LOG: [quiet, quiet], NIC_COUNTERS: [device(3, 7), device(4, 7)]})
    (finding,) = look(nic_reset, rising)
    assert evidence(finding) == {"total_resets": 1}
    # Before ENA 2.16 a reset takes the counters back to zero.
    assert not look(
        nic_reset, segment_of({KERNEL_LOG: [quiet, quiet], NIC_COUNTERS: [device(3, 7), device(0, 0)]})
    )


def test_watchdog_counter_of_the_kernel() -> None:
    moments = [(QueueTimeouts("eth0", "ena", 5, count),) for count in (2, 3)]
    segment = segment_of({KERNEL_LOG: [kernel_log()] * 2, NIC_TIMEOUTS: moments, NIC_QUEUES: [(QUEUE,)] * 2})
    (finding,) = look(nic_reset, segment)
    assert evidence(finding)["timeouts while looking"] == 1
    assert evidence(finding)["core of queue 5 (irq 41)"] == "37"


def test_scheduled_a_moment_ago_is_not_starved() -> None:
    fresh = ENA.replace("5180000", "4000")
    (finding,) = look(nic_reset, segment_of({KERNEL_LOG: [kernel_log(fresh)]}))
    assert "NAPI scheduled but not run" not in evidence(finding)


def test_the_line_says_what_it_means_and_the_advice_fits_the_cause() -> None:
    fatal = "bnxt_en 0000:3b:00.0 eth2: Detected firmware fatal condition, initiating reset"
    (finding,) = look(nic_reset, segment_of({KERNEL_LOG: [kernel_log(fatal)]}))
    assert "firmware" in evidence(finding)["which means"]
    assert finding.advice == (Advice(ADVICE["device"]),)


def test_a_line_of_a_program_about_no_device_of_ours_is_no_emergency() -> None:
    log = kernel_log(ENA, facility=1, trusts_programs=True)
    segment = segment_of({KERNEL_LOG: [log], NIC_QUEUES: [()]})
    (finding,) = look(nic_reset, segment)
    assert finding.severity is Severity.WARNING
    assert "written by a program" in finding.summary
    assert evidence(finding)["device present"] == "no"


def test_the_counters_are_looked_at_without_the_log() -> None:
    assert nic_reset.any_suffices
    moments = [(QueueTimeouts("eth0", "ena", 5, count),) for count in (2, 3)]
    assert len(look(nic_reset, segment_of({NIC_TIMEOUTS: moments}))) == 1
