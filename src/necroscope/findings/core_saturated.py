"""One core without a free moment, whatever the average says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice, fix_command
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.remedy_ids import MOVE_INTERRUPTS
from necroscope.model.shell_command import shell_command
from necroscope.signals import softirq_delay, task_time
from necroscope.signals.cpu_saturation import Run, SaturationRule, over
from necroscope.signals.cpu_usage import CpuUsage, sum_usage, usage_by_cpu
from necroscope.sources.cores import CORES
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.processes import PROCESSES
from necroscope.sources.run_queues import RUN_QUEUES
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS
from necroscope.store.segment import Segment

PROCESSES_NAMED = 3
WORTH_NAMING = 0.05  # shares below this do not explain a full core
WHERE = "/proc/stat"


@detector(
    "core-saturated",
    needs=(CORES,),
    uses=(PROCESSES, NIC_QUEUES, RUN_QUEUES, SOFTIRQ_THREADS),
    seconds_needed="core-saturated.seconds",
)
def core_saturated(case: Case) -> Iterator[Finding]:
    """One core had no free moment for consecutive seconds, while the average may look idle.

    Fires on every core whose time in the kernel (system + softirq + interrupts) stayed above a ratio
    of each second for some seconds in a row. Long kernel work on the core of a NIC queue keeps the queue
    from being served, and drivers reset their device after 5 s of that. Critical when the softirq thread
    of the core was kept waiting in these very seconds.

    A core that the hypervisor took away (steal) is reported as that. Cores full of user-space work are
    reported together, as `info`: the scheduler gives network work its turn there, so they do not starve a
    NIC by themselves.

    It does not say which kernel function it is: that needs a profile (perf record -C CORE -g). The
    processes named are those whose threads last ran on the core; work too short to be seen alive is
    given as what ended between two readings, with the parents of it.

    To do: find out why the named process is in the kernel. As a stop-gap only, move it or the NIC's
    interrupt to another core (`necroscope fix move-interrupts CORE`).
    """
    usages = usage_by_cpu(case.segment)
    rule = SaturationRule.of(case.thresholds)
    least_seconds = case.limit("softirq-starved.delay_seconds")
    delays = [one for one in softirq_delay.over(case.segment) if one.seconds >= least_seconds]
    waited_ns = {delay.thread.core: delay.end_ns for delay in delays}  # the last of each
    in_all = {core: sum_usage(intervals) for core, intervals in usages.items()}
    in_user_space = []
    for run in over(usages, rule):
        usage = run.usage(usages[run.cpu])
        filled_by = rule.filled_by(usage)
        if filled_by == "kernel":
            harmed = waited_ns.get(run.cpu, 0) > run.begin_ns
            yield _in_kernel(case, run, usage, _free_of_others(in_all, run.cpu), harmed=harmed)
        elif filled_by == "steal":
            yield _stolen(case, run, usage)
        else:
            in_user_space.append((run, usage))
    if in_user_space:
        yield _in_user_space(case, in_user_space)


def _free_of_others(in_all: Mapping[int, CpuUsage], core: int) -> float | None:
    """Return the free share of the other cores; None if there is no other."""
    others = [usage for other, usage in in_all.items() if other != core]
    return sum(usage.free for usage in others) / sum(usage.total for usage in others) if others else None


def _in_kernel(case: Case, run: Run, usage: CpuUsage, others_free: float | None, *, harmed: bool) -> Finding:
    evidence = [
        *_time_evidence(case, run, usage),
        *_busiest(case.segment, run, usage),
        *_waiting(case.segment, run),
    ]
    served = [queue.name for queue in case.segment.last(NIC_QUEUES) or () if queue.cores == (run.cpu,)]
    if served:
        evidence.append(Evidence("serves", ", ".join(served), "", "/proc/irq/*/effective_affinity_list"))
    if others_free is not None:
        evidence.append(Evidence("free share of the other cores", round(others_free, 3), "ratio", WHERE))
    record = shell_command(["perf", "record", "-C", str(run.cpu), "-g", "--", "sleep", "5"])
    advice = [Advice("see which kernel function it is", f"{record}; perf report --no-children")]
    if served:
        move = fix_command(MOVE_INTERRUPTS, str(run.cpu))
        advice.append(Advice("as a stop-gap, move its NIC interrupts", move))
    return Finding(
        id="core-saturated",
        severity=Severity.CRITICAL if harmed else Severity.WARNING,
        summary=f"core {run.cpu} was {usage.ratio('kernel'):.0%} in the kernel for {run.seconds:.0f} s"
        f" in a row ({_shares(usage)})",
        evidence=tuple(evidence),
        advice=tuple(advice),
        subject=str(run.cpu),
        remedy=MOVE_INTERRUPTS if served else "",
    )


def _stolen(case: Case, run: Run, usage: CpuUsage) -> Finding:
    return Finding(
        id="core-saturated",
        severity=Severity.WARNING,
        summary=f"the hypervisor took core {run.cpu} away for {run.seconds:.0f} s in a row"
        f" ({_shares(usage)})",
        evidence=(*_time_evidence(case, run, usage), *_busiest(case.segment, run, usage)),
        advice=(Advice("look at the host of this virtual machine, or at its CPU credits"),),
    )


def _in_user_space(case: Case, found: list[tuple[Run, CpuUsage]]) -> Finding:
    """One finding for all: on a node that works, many cores are like this."""
    longest, usage = max(found, key=lambda one: one[0].seconds)
    cores = sorted({run.cpu for run, _ in found})
    evidence = list(_time_evidence(case, longest, usage))
    if len(cores) > 1:
        evidence[0] = Evidence("cores", ",".join(map(str, cores)), "", WHERE)
        who = f"{len(cores)} cores were full of user-space work, core {longest.cpu} the longest:"
        summary = f"{who} {longest.seconds:.0f} s ({_shares(usage)})"
    else:
        work = "user-space work" if usage.user >= usage.kernel else "work"
        summary = (
            f"core {cores[0]} was full of {work} for {longest.seconds:.0f} s in a row ({_shares(usage)})"
        )
    return Finding(
        id="core-saturated",
        severity=Severity.INFO,
        summary=f"{summary}; the kernel's part alone starves no NIC",
        evidence=(*evidence, *_busiest(case.segment, longest, usage)),
    )


def _shares(usage: CpuUsage) -> str:
    """The modes that matter, for people."""
    modes = [mode for mode in ("system", "softirq", "user", "steal") if usage.ratio(mode) >= 0.005]
    return ", ".join(f"{usage.ratio(mode):.0%} {mode}" for mode in modes)


def _time_evidence(case: Case, run: Run, usage: CpuUsage) -> Iterator[Evidence]:
    yield Evidence("core", run.cpu, "", WHERE)
    yield Evidence("consecutive seconds", round(run.seconds, 1), "seconds", WHERE)
    yield Evidence("from", case.segment.anchor.iso(run.begin_ns), "UTC", WHERE)
    for mode in ("system", "softirq", "irq", "user", "steal", "iowait", "idle"):
        if mode in ("system", "user") or usage.ratio(mode) >= 0.005:
            yield Evidence(f"{mode} share", round(usage.ratio(mode), 3), "ratio", WHERE)


def _busiest(segment: Segment, run: Run, usage: CpuUsage) -> Iterator[Evidence]:
    """The processes that used the core, and what came and went on it too quickly to be seen."""
    tasks = task_time.over(segment, run.cpu, run.begin_ns, run.end_ns)
    for one in tasks.busiest(PROCESSES_NAMED):
        yield Evidence(f"share of {one}", round(one.share, 3), "ratio", f"/proc/{one.pid}/stat")
    unseen = usage.ratio("busy") - usage.ratio("steal") - tasks.share
    if tasks and unseen >= WORTH_NAMING:
        name = "share of what ended between two readings"
        yield Evidence(name, round(min(unseen, 1.0), 3), "ratio", f"{WHERE}, /proc/*/stat")
        for one in tasks.ended(PROCESSES_NAMED):
            if one.share >= WORTH_NAMING:
                name = f"ended children of {one}, any core"
                yield Evidence(name, round(one.share, 3), "cores", f"/proc/{one.pid}/stat")


def _waiting(segment: Segment, run: Run) -> Iterator[Evidence]:
    waited_ns = 0
    for step in segment.steps(RUN_QUEUES):
        if run.begin_ns < step.after.time_ns <= run.end_ns:
            before = {queue.core: queue.waiting_ns for queue in step.before.value}
            after = {queue.core: queue.waiting_ns for queue in step.after.value}
            waited_ns += after.get(run.cpu, 0) - before.get(run.cpu, 0)
    if waited_ns > 0:
        yield Evidence("time tasks waited for it", round(waited_ns / 1e9, 3), "seconds", "/proc/schedstat")
