"""The core behind a NIC event: which one serves the queue, and how it spent the seconds before.

Long kernel work that is not preempted keeps a core from its network work; user-space work does not, since
softirqs go before it. `time_squeeze` is not asked: it does not move when NAPI is not run at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.diagnosis.facts.serving import find_serving
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.signals import net_rx, softirq_delay
from necroscope.signals.cpu_usage import Shares, shares_by_core
from necroscope.signals.softirq_delay import SoftirqDelay
from necroscope.sources.nic_queues import NicQueue
from necroscope.sources.processes import PROCESSES, TICKS_PER_SECOND

LATE_NS = 3 * 10**9  # the kernel adds a wait when it is over, and we read it up to a second later
REACH_NS = 3 * 10**9 // 2  # of counters that are read once a second, to the moment of an event
TASKS_NAMED = 3


@dataclass(frozen=True, slots=True)
class Runner:
    """A process that ran on a core, and what share of its time it took."""

    process: str
    pid: int
    unit: str
    share: float


@dataclass(frozen=True, slots=True)
class CoreBefore:
    """How one core spent the seconds before an event."""

    core: int
    seconds: tuple[Shares, ...]
    kernel_run_seconds: float  # that it had been in the kernel in a row when the event came
    softirq_delay_seconds: float | None  # that its softirq thread waited; None: not known
    unserved_seconds: int | None  # with interrupts of the queue and without NET_RX; None: none came
    runners: tuple[Runner, ...]

    def mean(self, mode: str) -> float:
        """The average share of a mode."""
        return float(sum(getattr(shares, mode) for shares in self.seconds) / max(len(self.seconds), 1))


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
    serving = find_serving(scene, symptom)
    looked = _cores_before(scene, symptom, serving.queue)
    ranked = sorted(looked.values(), key=lambda core: (-core.kernel_run_seconds, -core.mean("kernel")))
    mine = tuple(core for core in ranked if core.core in serving.cores or not serving.cores)
    others = tuple(core for core in ranked if core not in mine)
    return Starvation(serving.queue, mine, others, serving.way, _napi_delay(scene, symptom))


def _cores_before(scene: Scene, symptom: Symptom, queue: NicQueue | None) -> dict[int, CoreBefore]:
    ratio = scene.limit("core-saturated.kernel_ratio")
    delays = _softirq_delays(scene, symptom)
    unserved = _unserved_seconds(scene, symptom, queue)
    runners = _runners(scene, symptom)
    return {
        core: CoreBefore(
            core,
            inside,
            _run_before(seconds, symptom, ratio),
            delays.get(core),
            unserved.get(core),
            runners.get(core, ()),
        )
        for core, seconds in shares_by_core(scene.segment).items()
        if (inside := tuple(s for s in seconds if symptom.has_most_of(s.begin_ns, s.end_ns)))
    }


def _run_before(seconds: Sequence[Shares], symptom: Symptom, ratio: float) -> float:
    """How long a core had been in the kernel in a row when the event came; the run may have begun before.

    One that was over before does not count: the core had time for its network work since.
    """
    begin_ns = end_ns = 0
    for shares in seconds:
        if shares.begin_ns + shares.end_ns > 2 * symptom.end_ns:  # most of it is later
            break
        if shares.kernel >= ratio:
            begin_ns = begin_ns if shares.begin_ns == end_ns else shares.begin_ns
            end_ns = shares.end_ns
    return (end_ns - begin_ns) / 1e9 if end_ns >= symptom.end_ns - REACH_NS else 0.0


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


def _runners(scene: Scene, symptom: Symptom) -> dict[int, tuple[Runner, ...]]:
    """The processes that used every core most."""
    used: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    names: dict[int, tuple[str, str]] = {}
    seconds = 0.0
    before_ns = None
    for moment in scene.segment.series(PROCESSES):
        if symptom.begin_ns < moment.time_ns <= symptom.end_ns + 10**9:
            seconds += (moment.time_ns - (before_ns or moment.time_ns - 10**9)) / 1e9
            for task in moment.value.tasks:
                used[task.core][task.pid] += task.user_ticks + task.system_ticks
                names[task.pid] = (task.comm, task.unit)
        before_ns = moment.time_ns
    available = max(seconds, 1.0) * TICKS_PER_SECOND
    return {
        core: tuple(
            Runner(names[pid][0], pid, names[pid][1], round(ticks / available, 3))
            for pid, ticks in sorted(by_pid.items(), key=lambda item: -item[1])[:TASKS_NAMED]
        )
        for core, by_pid in used.items()
    }
