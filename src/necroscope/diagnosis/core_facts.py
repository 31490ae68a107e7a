"""What is known of the core behind a symptom."""

from __future__ import annotations

from necroscope.diagnosis.fact import Fact
from necroscope.diagnosis.line_facts import line_facts
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.starvation import CoreBefore, Starvation
from necroscope.diagnosis.symptom import Symptom
from necroscope.model.finding import Evidence
from necroscope.signals.cpu_saturation import GRACE_SECONDS
from necroscope.signals.net_rx import has_napi_threads
from necroscope.sources.cores import CORES
from necroscope.sources.interrupts import INTERRUPTS
from necroscope.sources.nic_queues import NicQueue
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS
from necroscope.sources.softirqs import SOFTIRQS

STAT = "/proc/stat"
MOST_OF_STALL = 0.6
WHICH_CORE = "which core serves the queue: the line or the map does not say, or the interrupt moved"
COUNTED = ("softirq-delayed", "interrupts-unserved")
SAID = ("napi-scheduled", *COUNTED)
OF_CORES = (
    "core-in-kernel",
    "core-in-softirq",
    "core-in-user-space",
    "core-stolen",
    "core-free",
    "core-serves-queue",
    "other-core-in-kernel",
)


def core_facts(scene: Scene, symptom: Symptom, found: Starvation) -> dict[str, Fact]:
    """How the core spent its seconds, and whether its network work waited."""
    core = found.core
    if core is None:
        unknown = Fact(None, unknown=f"what the cores did then ({scene.why_not(CORES)})")
        facts = dict.fromkeys(OF_CORES, unknown)
    else:
        serves = _serves(symptom, found)
        facts = {**_modes(scene, symptom, core), **_others(scene, found), "core-serves-queue": serves}
    facts |= line_facts(scene, symptom, found)
    facts |= {"softirq-delayed": _delayed(scene, found), "interrupts-unserved": _unserved(scene, found)}
    return {**facts, "starvation-seen": _seen(facts, SAID), "starvation-shown": _shown(facts)}


def _modes(scene: Scene, symptom: Symptom, core: CoreBefore) -> dict[str, Fact]:
    shares = [
        Evidence(f"{mode} share of core {core.core}", round(core.usage.ratio(mode), 3), "ratio", STAT)
        for mode in ("system", "softirq", "user", "steal", "idle")
    ]
    run = Evidence(
        f"core {core.core} in the kernel, seconds in a row",
        round(core.kernel_run_seconds, 1),
        "seconds",
        STAT,
    )
    runners = tuple(
        Evidence(f"share of {one}", one.share, "ratio", f"/proc/{one.pid}/stat") for one in core.runners
    )
    # A core that runs softirqs is not kept from running them.
    in_softirq = core.usage.ratio("softirq") >= scene.limit("diagnosis.softirq_ratio")
    in_kernel = core.kernel_run_seconds >= _starving_seconds(scene, symptom) and not in_softirq
    stolen = core.usage.ratio("steal") >= scene.limit("diagnosis.steal_ratio")
    busy = core.usage.ratio("busy") >= scene.limit("diagnosis.busy_ratio")
    explained = in_kernel or in_softirq or stolen
    return {
        "core-in-kernel": Fact(in_kernel, (run, *shares, *runners)),
        "core-in-softirq": Fact(in_softirq, tuple(shares)),
        "core-stolen": Fact(stolen, tuple(shares)),
        "core-in-user-space": Fact(busy and not explained, (*shares, *runners)),
        "core-free": Fact(not busy and not explained, tuple(shares)),
    }


def _starving_seconds(scene: Scene, symptom: Symptom) -> float:
    """How long a core must have been in the kernel to explain a stall: most of it, where that is told."""
    least = scene.limit("diagnosis.starving_seconds") - GRACE_SECONDS
    stalled = min(symptom.event.stall_seconds or 0.0, (symptom.end_ns - symptom.begin_ns) / 1e9)
    return max(least, MOST_OF_STALL * stalled)


def _others(scene: Scene, found: Starvation) -> dict[str, Fact]:
    if not found.is_certain:
        return {"other-core-in-kernel": Fact(None, unknown=WHICH_CORE)}
    least = scene.limit("diagnosis.starving_seconds") - GRACE_SECONDS
    worst = max(found.others, key=lambda core: core.kernel_run_seconds, default=None)
    if worst is None or worst.kernel_run_seconds < least:
        return {"other-core-in-kernel": Fact(False)}
    seconds = round(worst.kernel_run_seconds, 1)
    runner = worst.runners[0] if worst.runners else None
    evidence = [Evidence(f"core {worst.core} in the kernel, seconds in a row", seconds, "seconds", STAT)]
    if runner:
        evidence.append(Evidence(f"share of {runner.process} on it", runner.share, "ratio", "/proc/*/stat"))
    return {"other-core-in-kernel": Fact(True, tuple(evidence))}


def _serves(symptom: Symptom, found: Starvation) -> Fact:
    """Whether it is known that this core, and no other, serves what stalled."""
    if symptom.kind != "nic-reset":
        return Fact(True)
    queue = found.queue
    evidence = [Evidence("core", found.core.core if found.core else "", "", found.way)]
    if queue:
        name = f"queue {queue.queue} (irq {queue.irq}, {queue.irq_name})"
        evidence.append(Evidence(name, f"served by core {','.join(map(str, queue.cores))}", "", found.way))
    elif symptom.event.queue is not None:
        evidence.append(Evidence("queue", symptom.event.queue, "", "kernel log"))
    if found.is_certain:
        return Fact(True, tuple(evidence))
    ranked = ", ".join(f"{core.core} ({core.usage.ratio('kernel'):.0%} kernel)" for core in found.cores[:5])
    evidence.append(Evidence("candidates, the likeliest first", ranked, "", found.way))
    return Fact(None, tuple(evidence), WHICH_CORE)


def _seen(facts: dict[str, Fact], names: tuple[str, ...]) -> Fact:
    """Whether something tells that network work waited; False: all that can tell deny it."""
    tellers = [facts[name] for name in names]
    told = [fact.holds for fact in tellers if fact.holds is not None]
    evidence = tuple(one for fact in tellers for one in fact.evidence)
    if not told:
        return Fact(None, evidence, "whether the network work of the core waited: nothing can tell")
    return Fact(True in told, evidence)


def _shown(facts: dict[str, Fact]) -> Fact:
    """The same, without a line that a program wrote."""
    return _seen(facts, SAID if facts["line-is-kernels"].holds else COUNTED)


def _delayed(scene: Scene, found: Starvation) -> Fact:
    core = found.core
    delay = found.napi_delay_seconds
    name = "NAPI threads of the device waited"
    if delay is None and core:
        delay, name = core.softirq_delay_seconds, f"ksoftirqd/{core.core} waited"
    if delay is None:
        return Fact(None, unknown=f"whether softirqs waited ({scene.why_not(SOFTIRQ_THREADS)})")
    evidence = Evidence(name, round(delay, 3), "seconds", "/proc/PID/schedstat")
    return Fact(delay >= scene.limit("softirq-starved.delay_seconds"), (evidence,))


def _unserved(scene: Scene, found: Starvation) -> Fact:
    core, queue = found.core, found.queue
    if core is None or core.unserved_seconds is None:
        return Fact(None, unknown=f"whether NET_RX ran: {_why_not_unserved(scene, queue)}")
    seconds = core.unserved_seconds
    where = "/proc/interrupts, /proc/softirqs"
    name = f"seconds with interrupts and no NET_RX on core {core.core}"
    return Fact(seconds > 0, (Evidence(name, seconds, "seconds", where),))


def _why_not_unserved(scene: Scene, queue: NicQueue | None) -> str:
    if queue is None:
        return "the queue's interrupt is not known"
    if len(scene.segment.series(INTERRUPTS)) < 2:
        return scene.why_not(INTERRUPTS)
    if len(scene.segment.series(SOFTIRQS)) < 2:
        return scene.why_not(SOFTIRQS)
    if has_napi_threads(scene.segment.last(SOFTIRQ_THREADS) or ()):
        return "threads do its work here (NAPI threads)"
    return f"irq {queue.irq} of queue {queue.queue} did not come in these seconds"
