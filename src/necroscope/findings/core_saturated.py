"""One core without a free moment, whatever the average says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice, fix_command
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.remedy_ids import MOVE_INTERRUPTS
from necroscope.model.shell_command import shell_command
from necroscope.signals import softirq_delay
from necroscope.signals.cpu_usage import Shares, shares_by_core
from necroscope.signals.saturated_cores import GRACE_SECONDS
from necroscope.sources.cores import CORES
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.processes import PROCESSES, TICKS_PER_SECOND
from necroscope.sources.run_queues import RUN_QUEUES
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS
from necroscope.store.segment import Segment

PROCESSES_NAMED = 3
WORTH_NAMING = 0.05  # shares below this do not explain a full core
WHERE = "/proc/stat"


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive saturated intervals of one core."""

    core: int
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

    @property
    def shares(self) -> str:
        """The modes that matter, for people."""
        modes = [mode for mode in ("system", "softirq", "user", "steal") if self.mean(mode) >= 0.005]
        return ", ".join(f"{self.mean(mode):.0%} {mode}" for mode in modes)


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
    cores = shares_by_core(case.segment)
    least_seconds = case.limit("softirq-starved.delay_seconds")
    delays = [one for one in softirq_delay.over(case.segment) if one.seconds >= least_seconds]
    waited_ns = {delay.thread.core: delay.end_ns for delay in delays}  # the last of each
    free = _Free.of(cores)
    in_user_space = []
    for core, intervals in sorted(cores.items()):
        for run in find_runs(case, core, intervals):
            if run.mean("kernel") >= case.limit("core-saturated.kernel_ratio"):
                harmed = waited_ns.get(core, 0) > run.begin_ns
                yield _in_kernel(case, run, free.of_others(core), harmed=harmed)
            elif run.mean("steal") >= run.mean("user"):
                yield _stolen(case, run)
            else:
                in_user_space.append(run)
    if in_user_space:
        yield _in_user_space(case, in_user_space)


def find_runs(case: Case, core: int, intervals: list[Shares]) -> Iterator[Run]:
    """The long enough saturated stretches of a core; within one, those in the kernel are told apart."""
    enough = case.limit("core-saturated.seconds") - GRACE_SECONDS
    kernel_ratio = case.limit("core-saturated.kernel_ratio")
    busy_ratio = case.limit("core-saturated.busy_ratio")
    for saturated, stretch in groupby(intervals, lambda s: s.busy >= busy_ratio or s.kernel >= kernel_ratio):
        if not saturated:
            continue
        rest: list[Shares] = []
        for in_kernel, part in groupby(stretch, lambda s: s.kernel >= kernel_ratio):
            run = Run(core, tuple(part))
            if in_kernel and run.seconds >= enough:
                yield from _long_enough(core, rest, enough)
                rest = []
                yield run
            else:
                rest.extend(run.intervals)
        yield from _long_enough(core, rest, enough)


def _long_enough(core: int, intervals: list[Shares], enough: float) -> Iterator[Run]:
    if intervals and (run := Run(core, tuple(intervals))).seconds >= enough:
        yield run


@dataclass(frozen=True, slots=True)
class _Free:
    """How much of all seconds was free: the sum and the number by core."""

    by_core: Mapping[int, tuple[float, int]]
    total: float
    seconds: int

    @classmethod
    def of(cls, cores: Mapping[int, list[Shares]]) -> _Free:
        by_core = {core: (sum(one.free for one in shares), len(shares)) for core, shares in cores.items()}
        return cls(by_core, sum(free for free, _ in by_core.values()), sum(n for _, n in by_core.values()))

    def of_others(self, core: int) -> float | None:
        """The share of the other cores; None where there is no other."""
        own, seconds = self.by_core[core]
        return (self.total - own) / (self.seconds - seconds) if self.seconds > seconds else None


def _in_kernel(case: Case, run: Run, others_free: float | None, *, harmed: bool) -> Finding:
    evidence = [*_time_evidence(case, run), *_busiest(case.segment, run), *_waiting(case.segment, run)]
    served = [queue.name for queue in case.segment.last(NIC_QUEUES) or () if queue.cores == (run.core,)]
    if served:
        evidence.append(Evidence("serves", ", ".join(served), "", "/proc/irq/*/effective_affinity_list"))
    if others_free is not None:
        evidence.append(Evidence("free share of the other cores", round(others_free, 3), "ratio", WHERE))
    record = shell_command(["perf", "record", "-C", str(run.core), "-g", "--", "sleep", "5"])
    advice = [Advice("see which kernel function it is", f"{record}; perf report --no-children")]
    if served:
        move = fix_command(MOVE_INTERRUPTS, str(run.core))
        advice.append(Advice("as a stop-gap, move its NIC interrupts", move))
    return Finding(
        id="core-saturated",
        severity=Severity.CRITICAL if harmed else Severity.WARNING,
        summary=f"core {run.core} was {run.mean('kernel'):.0%} in the kernel for {run.seconds:.0f} s in a row"
        f" ({run.shares})",
        evidence=tuple(evidence),
        advice=tuple(advice),
        subject=str(run.core),
        remedy=MOVE_INTERRUPTS if served else "",
    )


def _stolen(case: Case, run: Run) -> Finding:
    return Finding(
        id="core-saturated",
        severity=Severity.WARNING,
        summary=f"the hypervisor took core {run.core} away for {run.seconds:.0f} s in a row ({run.shares})",
        evidence=(*_time_evidence(case, run), *_busiest(case.segment, run)),
        advice=(Advice("look at the host of this virtual machine, or at its CPU credits"),),
    )


def _in_user_space(case: Case, runs: list[Run]) -> Finding:
    """One finding for all: on a node that works, many cores are like this."""
    longest = max(runs, key=lambda run: run.seconds)
    cores = sorted({run.core for run in runs})
    evidence = list(_time_evidence(case, longest))
    if len(cores) > 1:
        evidence[0] = Evidence("cores", ",".join(map(str, cores)), "", WHERE)
        who = f"{len(cores)} cores were full of user-space work, core {longest.core} the longest:"
        summary = f"{who} {longest.seconds:.0f} s ({longest.shares})"
    else:
        work = "user-space work" if longest.mean("user") >= longest.mean("kernel") else "work"
        summary = (
            f"core {cores[0]} was full of {work} for {longest.seconds:.0f} s in a row ({longest.shares})"
        )
    return Finding(
        id="core-saturated",
        severity=Severity.INFO,
        summary=f"{summary}; the kernel's part alone starves no NIC",
        evidence=(*evidence, *_busiest(case.segment, longest)),
    )


def _time_evidence(case: Case, run: Run) -> Iterator[Evidence]:
    yield Evidence("core", run.core, "", WHERE)
    yield Evidence("consecutive seconds", round(run.seconds, 1), "seconds", WHERE)
    yield Evidence("from", case.segment.anchor.iso(run.begin_ns), "UTC", WHERE)
    for mode in ("system", "softirq", "irq", "user", "steal", "iowait", "idle"):
        if mode in ("system", "user") or run.mean(mode) >= 0.005:
            yield Evidence(f"{mode} share", round(run.mean(mode), 3), "ratio", WHERE)


def _busiest(segment: Segment, run: Run) -> Iterator[Evidence]:
    """The processes that used the core, and what came and went on it too quickly to be seen."""
    used: dict[int, int] = defaultdict(int)
    ended: dict[int, int] = defaultdict(int)
    names: dict[int, str] = {}
    for moment in segment.series(PROCESSES):
        if not run.begin_ns < moment.time_ns <= run.end_ns:
            continue
        for task in moment.value.tasks:
            if task.core == run.core:
                used[task.pid] += task.user_ticks + task.system_ticks
                names.setdefault(task.pid, f"{task.comm} (pid {task.pid}){_place(task.unit)}")
        for parent in moment.value.ended:
            ended[parent.pid] += parent.ticks
            names.setdefault(parent.pid, f"{parent.comm} (pid {parent.pid}){_place(parent.unit)}")
    available = run.seconds * TICKS_PER_SECOND
    for pid in sorted(used, key=lambda pid: -used[pid])[:PROCESSES_NAMED]:
        share = min(used[pid] / available, 1.0)
        yield Evidence(f"share of {names[pid]}", round(share, 3), "ratio", f"/proc/{pid}/stat")
    unseen = run.mean("busy") - run.mean("steal") - sum(used.values()) / available
    if names and unseen >= WORTH_NAMING:
        name = "share of what ended between two readings"
        yield Evidence(name, round(min(unseen, 1.0), 3), "ratio", f"{WHERE}, /proc/*/stat")
        for pid in sorted(ended, key=lambda pid: -ended[pid])[:PROCESSES_NAMED]:
            if (share := ended[pid] / available) >= WORTH_NAMING:
                name = f"ended children of {names[pid]}, any core"
                yield Evidence(name, round(share, 3), "cores", f"/proc/{pid}/stat")


def _place(unit: str) -> str:
    return f" of {unit}" if unit else ""


def _waiting(segment: Segment, run: Run) -> Iterator[Evidence]:
    waited_ns = 0
    for step in segment.steps(RUN_QUEUES):
        if run.begin_ns < step.after.time_ns <= run.end_ns:
            before = {queue.core: queue.waiting_ns for queue in step.before.value}
            after = {queue.core: queue.waiting_ns for queue in step.after.value}
            waited_ns += after.get(run.core, 0) - before.get(run.core, 0)
    if waited_ns > 0:
        yield Evidence("time tasks waited for it", round(waited_ns / 1e9, 3), "seconds", "/proc/schedstat")
