"""One core without a free moment, whatever the average says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from necroscope.findings.detector import Case, detector
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.recording.core_shares import Shares, shares_by_core
from necroscope.recording.segment import Segment
from necroscope.sources.cores import CORES
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.processes import PROCESSES, TICKS_PER_SECOND, Task

TASKS_NAMED = 3
GRACE_SECONDS = 0.5  # an interval of ours is never exactly a second
WHERE = "/proc/stat"


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive saturated intervals of one core."""

    core: int
    in_kernel: bool
    intervals: tuple[Shares, ...]

    @property
    def begin_ns(self) -> int:
        """When it began."""
        return self.intervals[0].begin_ns

    @property
    def end_ns(self) -> int:
        """When it ended."""
        return self.intervals[-1].end_ns

    @property
    def seconds(self) -> float:
        """How long it was."""
        return (self.end_ns - self.begin_ns) / 1e9

    def mean(self, mode: str) -> float:
        """The average share of a mode."""
        return float(sum(getattr(shares, mode) for shares in self.intervals) / len(self.intervals))


@detector("core-saturated", needs=(CORES,), uses=(PROCESSES, NIC_QUEUES))
def core_saturated(case: Case) -> Iterator[Finding]:
    """One core had no free moment for consecutive seconds, while the average may look idle.

    Fires on every core whose time in the kernel (system + softirq + interrupts) stayed above a ratio
    of each second for some seconds in a row. Critical from five seconds of pure kernel time: network
    drivers reset their device when a queue is not served for that long, and long kernel work on the
    queue's core is what keeps it from being served.

    A core that is full of user-space work is reported too, as `info`: the scheduler gives network
    work its turn there, so by itself it does not starve a NIC. It costs latency of other tasks only.

    It does not say that something was starved: softirq-starved does. The tasks named are those that
    last ran on the core; a kernel function needs a profile (perf record -C CORE -g).

    To do: find out why the named task is in the kernel; move it or the NIC's interrupt to another
    core as a stop-gap only.
    """
    cores = shares_by_core(case.segment)
    for core, intervals in sorted(cores.items()):
        others = [shares for other in cores if other != core for shares in cores[other]]
        for run in find_runs(case, core, intervals):
            yield _finding(case, run, others)


def find_runs(case: Case, core: int, intervals: list[Shares]) -> Iterator[Run]:
    """The long enough saturated stretches of a core: those in the kernel, and what is left of others."""
    enough = case.limit("core-saturated.seconds") - GRACE_SECONDS
    kernel_ratio, busy_ratio = (
        case.limit("core-saturated.kernel_ratio"),
        case.limit("core-saturated.busy_ratio"),
    )

    def is_saturated(shares: Shares) -> bool:
        return shares.busy >= busy_ratio or shares.kernel >= kernel_ratio

    for saturated, stretch in groupby(intervals, is_saturated):
        if not saturated:
            continue
        rest: list[Shares] = []
        for in_kernel, part in groupby(stretch, lambda shares: shares.kernel >= kernel_ratio):
            run = Run(core, True, tuple(part))
            if in_kernel and run.seconds >= enough:
                yield from _long_enough(core, rest, enough)
                rest = []
                yield run
            else:
                rest.extend(run.intervals)
        yield from _long_enough(core, rest, enough)


def _long_enough(core: int, intervals: list[Shares], enough: float) -> Iterator[Run]:
    if intervals and (run := Run(core, False, tuple(intervals))).seconds >= enough:
        yield run


def _finding(case: Case, run: Run, others: list[Shares]) -> Finding:
    evidence = [
        Evidence("core", run.core, "", WHERE),
        Evidence("consecutive seconds", round(run.seconds, 1), "seconds", WHERE),
        Evidence("from", case.segment.anchor.iso(run.begin_ns), "UTC", WHERE),
        *(
            Evidence(f"{mode} share", round(run.mean(mode), 3), "ratio", WHERE)
            for mode in ("system", "softirq", "irq", "user", "steal", "iowait", "idle")
            if mode in ("system", "user") or run.mean(mode) >= 0.005
        ),
        *_busiest_tasks(case.segment, run),
        *_queues_served(case.segment, run.core),
    ]
    if others:
        free = sum(shares.free for shares in others) / len(others)
        evidence.append(Evidence("free share of the other cores", round(free, 3), "ratio", WHERE))
    advice = (
        f"see which kernel function it is: perf record -C {run.core} -g -- sleep 5; perf report --no-children"
    )
    return Finding(
        id="core-saturated",
        severity=_severity(case, run),
        summary=_summary(run),
        evidence=tuple(evidence),
        advice=(advice,) if run.in_kernel else (),
    )


def _severity(case: Case, run: Run) -> Severity:
    if not run.in_kernel:
        return Severity.INFO
    pure = run.mean("kernel") >= case.limit("core-saturated.critical_ratio")
    long = run.seconds >= case.limit("core-saturated.critical_seconds") - GRACE_SECONDS
    return Severity.CRITICAL if pure and long else Severity.WARNING


def _summary(run: Run) -> str:
    shares = ", ".join(f"{run.mean(mode):.0%} {mode}" for mode in ("system", "softirq", "user"))
    stretch = f"for {run.seconds:.0f} s in a row ({shares})"
    if run.in_kernel:
        return f"core {run.core} was {run.mean('kernel'):.0%} in the kernel {stretch}"
    mixed = run.mean("user") < run.mean("kernel")
    what = "busy in the kernel and in user space" if mixed else "full of user-space work"
    return f"core {run.core} was {what} {stretch}; this alone starves no NIC"


def _busiest_tasks(segment: Segment, run: Run) -> Iterator[Evidence]:
    ticks: dict[tuple[int, int], int] = defaultdict(int)
    tasks: dict[tuple[int, int], Task] = {}
    for moment in segment.series(PROCESSES):
        if run.begin_ns < moment.time_ns <= run.end_ns:
            for task in moment.value.tasks:
                if task.core == run.core:
                    tasks[task.pid, task.tid] = task
                    ticks[task.pid, task.tid] += task.user_ticks + task.system_ticks
    for key in sorted(ticks, key=lambda key: -ticks[key])[:TASKS_NAMED]:
        task = tasks[key]
        thread = f"{task.pid}" if task.tid == task.pid else f"{task.pid}, thread {task.tid}"
        place = f" of {task.unit}" if task.unit else ""
        share = min(ticks[key] / (run.seconds * TICKS_PER_SECOND), 1.0)
        name = f"share of {task.comm} (pid {thread}){place}"
        yield Evidence(name, round(share, 3), "ratio", f"/proc/{task.pid}/stat")


def _queues_served(segment: Segment, core: int) -> Iterator[Evidence]:
    served = [queue for queue in segment.last(NIC_QUEUES) or () if queue.cores == (core,)]
    if served:
        yield Evidence("serves", ", ".join(q.name for q in served), "", "/proc/irq/*/effective_affinity_list")
