"""The core behind a NIC event: which one serves the queue, and how it spent the seconds before.

Long kernel work that is not preempted keeps a core from its network work; user-space work does not, since
softirqs go before it. `time_squeeze` is not asked: it does not move when NAPI is not run at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.signals import net_rx, queue_cpus, softirq_delay, task_time
from necroscope.signals.cpu_saturation import Run, SaturationRule, over
from necroscope.signals.cpu_usage import CpuUsage, sum_usage, usage_by_cpu
from necroscope.signals.softirq_delay import SoftirqDelay
from necroscope.signals.task_time import ProcessShare
from necroscope.sources.interrupts import INTERRUPTS
from necroscope.sources.nic_queues import NicQueue

LATE_NS = 3 * 10**9  # the kernel adds a wait when it is over, and we read it up to a second later
REACH_NS = 3 * 10**9 // 2  # of counters that are read once a second, to the moment of an event
TASKS_NAMED = 3


@dataclass(frozen=True, slots=True)
class CoreBefore:
    """How one core spent the seconds before an event."""

    core: int
    usage: CpuUsage
    kernel_run_seconds: float  # that it had been in the kernel in a row when the event came
    softirq_delay_seconds: float | None  # that its softirq thread waited; None: not known
    unserved_seconds: int | None  # with interrupts of the queue and without NET_RX; None: none came
    runners: tuple[ProcessShare, ...]  # the processes that used it most


@dataclass(frozen=True, slots=True)
class Starvation:
    """The cores that may have starved a queue, the likeliest first."""

    queue: NicQueue | None  # None: the event names none, or the map does not have it
    cores: tuple[CoreBefore, ...]
    others: tuple[CoreBefore, ...]  # those that do not serve it
    way: str  # how the cores were found
    napi_delay_seconds: float | None = None  # that NAPI threads of the device waited; None: it has none

    @property
    def core(self) -> CoreBefore | None:
        """The likeliest."""
        return self.cores[0] if self.cores else None

    @property
    def is_certain(self) -> bool:
        """Whether it can be no other core."""
        return len(self.cores) == 1


def starvation(scene: Scene, symptom: Symptom) -> Starvation:
    """Find the core of an event, and look at its seconds before."""
    queue, serving, way = _find_serving(scene, symptom)
    looked = _cores_before(scene, symptom, queue)
    ranked = sorted(looked.values(), key=lambda core: (-core.kernel_run_seconds, -core.usage.ratio("kernel")))
    mine = tuple(core for core in ranked if core.core in serving or not serving)
    others = tuple(core for core in ranked if core not in mine)
    return Starvation(queue, mine, others, way, _napi_delay(scene, symptom))


def _find_serving(scene: Scene, symptom: Symptom) -> tuple[NicQueue | None, tuple[int, ...], str]:
    """Return the queue of an event, the cores that served it in the window (none: any), and the way."""
    event = symptom.event
    device = event.device or event.bus
    before, now = (
        queue_cpus.over(scene.segment.moments, time_ns) for time_ns in (symptom.begin_ns, symptom.end_ns)
    )
    queue = next(iter(now.serving(device, event.queue)), None)
    if event.core is not None:
        return queue, (event.core,), "the event names the core"
    if queue and queue.cores:
        moved = {core for old in before.of_device(device) if old.irq == queue.irq for core in old.cores}
        cores = moved | set(queue.cores) | _taken_by(scene, symptom, queue.irq)
        way = f"/proc/irq/{queue.irq}/effective_affinity_list"
        return queue, tuple(sorted(cores)), way if len(cores) == 1 else f"{way}; /proc/interrupts"
    cores = {core for one in now.of_device(device) for core in one.cores}
    if cores:
        return None, tuple(sorted(cores)), f"all cores that serve a queue of {device}"
    return None, (), "all cores: nothing tells which one serves the queue"


def _taken_by(scene: Scene, symptom: Symptom, irq: int) -> set[int]:
    """The cores that took an interrupt in the window: it may have been moved since the map was read."""
    cores = set()
    for step in scene.segment.steps(INTERRUPTS):
        if symptom.has_most_of(step.before.time_ns, step.after.time_ns):
            taken = queue_cpus.taken_between(step.before.value, step.after.value, {irq})
            cores |= {core for core, count in taken.items() if count}
    return cores


def _cores_before(scene: Scene, symptom: Symptom, queue: NicQueue | None) -> dict[int, CoreBefore]:
    usages = usage_by_cpu(scene.segment)
    runs = over(usages, replace(SaturationRule.of(scene.thresholds), seconds=0))
    delays = _softirq_delays(scene, symptom)
    unserved = _unserved_seconds(scene, symptom, queue)
    return {
        core: CoreBefore(
            core,
            sum_usage(inside),
            _run_before((run for run in runs if run.cpu == core), symptom),
            delays.get(core),
            unserved.get(core),
            _runners(scene, symptom, core),
        )
        for core, intervals in usages.items()
        if (inside := [one for one in intervals if symptom.has_most_of(one.begin_ns, one.end_ns)])
    }


def _run_before(runs: Iterable[Run], symptom: Symptom) -> float:
    """How long a core had been in the kernel in a row when the event came; the run may have begun before.

    One that was over before does not count: the core had time for its network work since.
    """
    reaching = (run for run in runs if run.in_kernel and run.end_ns >= symptom.end_ns - REACH_NS)
    lengths = (
        min(run.end_ns, symptom.end_ns) - run.begin_ns for run in reaching if run.begin_ns < symptom.end_ns
    )
    return max(lengths, default=0) / 1e9


def _softirq_delays(scene: Scene, symptom: Symptom) -> dict[int, float]:
    """How long the softirq thread of every core waited, in seconds."""
    waited: dict[int, float] = defaultdict(float)
    for delay in _delays(scene, symptom):
        if delay.thread.core is not None:
            waited[delay.thread.core] += delay.seconds
    return waited


def _napi_delay(scene: Scene, symptom: Symptom) -> float | None:
    """How long the longest waiting NAPI thread of the device waited, where it has such threads."""
    waited: dict[int, float] = defaultdict(float)
    for delay in _delays(scene, symptom):
        if delay.thread.core is None and delay.thread.name.startswith(f"napi/{symptom.event.device}-"):
            waited[delay.thread.pid] += delay.seconds
    return max(waited.values(), default=None)


def _delays(scene: Scene, symptom: Symptom) -> list[SoftirqDelay]:
    delays = softirq_delay.over(scene.segment)
    return [one for one in delays if symptom.begin_ns < one.end_ns <= symptom.end_ns + LATE_NS]


def _unserved_seconds(scene: Scene, symptom: Symptom, queue: NicQueue | None) -> dict[int, int]:
    """Seconds of every core in which the queue's interrupt came and NET_RX stood still.

    A core where it never came is left out: an interrupt is masked while its NAPI waits.
    """
    if queue is None:
        return {}
    unserved: dict[int, int] = defaultdict(int)
    for one in net_rx.over(scene.segment, {queue.irq}):
        if one.interrupts and symptom.has_most_of(one.begin_ns, one.end_ns):
            unserved[one.cpu] += not one.has_run
    return unserved


def _runners(scene: Scene, symptom: Symptom, core: int) -> tuple[ProcessShare, ...]:
    """The processes that used a core most."""
    used = task_time.over(scene.segment, core, symptom.begin_ns, symptom.end_ns + 10**9)
    return tuple(replace(one, share=round(one.share, 3)) for one in used.busiest(TASKS_NAMED))
