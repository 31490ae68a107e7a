from __future__ import annotations

from necroscope.findings.core_saturated import core_saturated
from necroscope.model.finding import Severity
from necroscope.sources.cores import CORES
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueue
from necroscope.sources.processes import PROCESSES, Processes, Task
from tests.segments import core_seconds, evidence, look, segment_of


def test_one_core_of_96_is_named_while_the_average_is_one_percent() -> None:
    idle = ["idle"] * 6
    segment = segment_of({CORES: core_seconds(*[idle] * 37, ["system"] * 6, *[idle] * 58)})
    (finding,) = look(core_saturated, segment)
    facts = evidence(finding)
    assert finding.severity is Severity.CRITICAL
    assert (facts["core"], facts["consecutive seconds"], facts["system share"]) == (37, 6.0, 1.0)
    assert facts["free share of the other cores"] == 1.0
    assert "core 37 was 100% in the kernel for 6 s" in finding.summary


def test_softirq_and_interrupt_time_count_as_kernel_time() -> None:
    (finding,) = look(core_saturated, segment_of({CORES: core_seconds(["softirq=60,irq=20,idle=20"] * 4)}))
    assert finding.severity is Severity.WARNING
    assert evidence(finding)["softirq share"] == 0.6


def test_short_bursts_and_broken_runs_are_ordinary() -> None:
    plans = [["system", "system", "idle", "system", "system", "idle"], ["idle"] * 6]
    assert not look(core_saturated, segment_of({CORES: core_seconds(*plans)}))


def test_user_space_work_is_reported_as_what_it_is() -> None:
    (finding,) = look(core_saturated, segment_of({CORES: core_seconds(["user"] * 5, ["idle"] * 5)}))
    assert finding.severity is Severity.INFO
    assert "full of user-space work" in finding.summary
    assert evidence(finding)["user share"] == 1.0


def test_a_stretch_that_changes_from_user_to_kernel_gives_both() -> None:
    found = look(core_saturated, segment_of({CORES: core_seconds(["user"] * 4 + ["system"] * 5)}))
    assert [(f.severity, evidence(f)["consecutive seconds"]) for f in found] == [
        (Severity.INFO, 4.0),
        (Severity.CRITICAL, 5.0),
    ]


def test_a_mixture_is_not_called_user_space() -> None:
    (finding,) = look(core_saturated, segment_of({CORES: core_seconds(["system=60,user=40"] * 5)}))
    assert finding.severity is Severity.INFO
    assert "busy in the kernel and in user space" in finding.summary


def test_thresholds_can_be_changed() -> None:
    segment = segment_of({CORES: core_seconds(["system=60,user=40"] * 5)})
    (finding,) = look(core_saturated, segment, kernel_ratio=0.5)
    assert finding.severity is Severity.WARNING
    assert not look(core_saturated, segment, kernel_ratio=0.5, seconds=20)


def test_tasks_and_nic_queues_of_that_core_are_named() -> None:
    kubelet = Task(812, 830, "kubelet", 1, 2, 95, "kubelet.service")
    elsewhere = Task(900, 900, "python", 0, 99, 0, "")
    queue = NicQueue("eth0", "ena", "0000:00:05.0", 5, "both", 41, "eth0-Tx-Rx-5", (1,), ())
    segment = segment_of(
        {
            CORES: core_seconds(["idle"] * 4, ["system"] * 4),
            PROCESSES: [Processes(200, (kubelet, elsewhere))] * 5,
            NIC_QUEUES: [(queue,)] * 5,
        }
    )
    (finding,) = look(core_saturated, segment)
    facts = evidence(finding)
    assert facts["share of kubelet (pid 812, thread 830) of kubelet.service"] == 0.97
    assert facts["serves"] == "eth0 queue 5"
    assert not any("python" in name for name in facts)
