from __future__ import annotations

from necroscope.findings.core_saturated import core_saturated
from necroscope.model.finding import Severity
from necroscope.sources.cores import CORES
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueue
from necroscope.sources.processes import PROCESSES, EndedChildren, Processes, Task
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThread, SoftirqThreads
from tests.segments import core_seconds, evidence, look, segment_of


def test_one_core_of_96_is_named_while_the_average_is_one_percent() -> None:
    idle = ["idle"] * 6
    segment = segment_of({CORES: core_seconds(*[idle] * 37, ["system"] * 6, *[idle] * 58)})
    (finding,) = look(core_saturated, segment)
    facts = evidence(finding)
    assert finding.severity is Severity.WARNING
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


def test_all_cores_in_user_space_are_one_finding() -> None:
    (finding,) = look(core_saturated, segment_of({CORES: core_seconds(*[["user"] * 5] * 96)}))
    assert finding.severity is Severity.INFO
    assert "96 cores were full of user-space work" in finding.summary
    assert evidence(finding)["cores"].startswith("0,1,2,")


def test_a_stretch_that_changes_from_user_to_kernel_gives_both() -> None:
    found = look(core_saturated, segment_of({CORES: core_seconds(["user"] * 4 + ["system"] * 5)}))
    assert [(f.severity, evidence(f)["consecutive seconds"]) for f in found] == [
        (Severity.WARNING, 5.0),
        (Severity.INFO, 4.0),
    ]


def test_a_stretch_is_judged_by_its_mean() -> None:
    (finding,) = look(
        core_saturated, segment_of({CORES: core_seconds(["system", "system", "system=60,user=40"] * 3)})
    )
    assert finding.severity is Severity.WARNING
    assert "core 0 was 87% in the kernel for 9 s" in finding.summary


def test_a_core_that_the_hypervisor_took_is_not_called_user_space() -> None:
    (finding,) = look(core_saturated, segment_of({CORES: core_seconds(["steal"] * 5)}))
    assert finding.severity is Severity.WARNING
    assert finding.summary == "the hypervisor took core 0 away for 5 s in a row (100% steal)"


def test_critical_only_with_harm() -> None:
    def threads(delay_ms: int) -> SoftirqThreads:
        return (SoftirqThread(14, "ksoftirqd/0", 0, delay_ms * 10**6),)

    cores = core_seconds(["system"] * 5)
    harmed = segment_of({CORES: cores, SOFTIRQ_THREADS: [*[threads(0)] * 5, threads(4_800)]})
    unharmed = segment_of({CORES: cores, SOFTIRQ_THREADS: [threads(0)] * 6})
    assert [look(core_saturated, segment)[0].severity for segment in (harmed, unharmed)] == [
        Severity.CRITICAL,
        Severity.WARNING,
    ]


def test_a_mixture_is_not_called_user_space() -> None:
    (finding,) = look(core_saturated, segment_of({CORES: core_seconds(["system=60,user=40"] * 5)}))
    assert finding.severity is Severity.INFO
    assert "core 0 was full of work" in finding.summary


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
    assert facts["share of kubelet (pid 812) of kubelet.service"] == 0.97
    assert facts["serves"] == "eth0 queue 5"
    assert finding.remedy == "move-interrupts"
    assert not any("python" in name for name in facts)


def test_threads_of_a_process_count_together() -> None:
    tasks = tuple(Task(500, 500 + n, f"worker-{n}", 0, 0, 10, "") for n in range(9))
    segment = segment_of({CORES: core_seconds(["system"] * 4), PROCESSES: [Processes(9, tasks)] * 5})
    assert evidence(look(core_saturated, segment)[0])["share of worker-0 (pid 500)"] == 0.9


def test_work_that_came_and_went_is_not_kept_quiet() -> None:
    ended = (EndedChildren(77, "bash", 90, "cron.service"),)
    segment = segment_of({CORES: core_seconds(["system"] * 4), PROCESSES: [Processes(9, (), ended)] * 5})
    facts = evidence(look(core_saturated, segment)[0])
    assert facts["share of what ended between two readings"] == 1.0
    assert facts["ended children of bash (pid 77) of cron.service, any core"] == 0.9
