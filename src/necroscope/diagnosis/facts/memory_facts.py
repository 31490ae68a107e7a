"""What is known of memory pressure and of trouble with finding large pages."""

from __future__ import annotations

from necroscope.diagnosis.facts.fact import Fact
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.model.finding import Evidence
from necroscope.sources.reclaim import RECLAIM, Reclaim
from necroscope.store.segment import Step

VMSTAT = "/proc/vmstat"
OF_THE_NODE = "oom-kill"  # the rule of such a line; a cgroup at its own limit says nothing about the node
OOM_NS = 60 * 10**9  # a process that was killed so long before may have freed what others waited for


def memory_facts(scene: Scene, symptom: Symptom) -> dict[str, Fact]:
    """Whether tasks searched for memory, or for large pages, in the seconds before."""
    steps = [
        step
        for step in scene.segment.steps(RECLAIM)
        if symptom.begin_ns < step.after.time_ns <= symptom.end_ns + 10**9
    ]
    if not steps:
        unknown = Fact(None, unknown=f"memory pressure ({scene.why_not(RECLAIM)})")
        return {"memory-pressure": unknown, "allocator-stalls": unknown}
    return {
        "memory-pressure": _pressure(scene, symptom, steps),
        "allocator-stalls": _allocator(scene, steps),
    }


def _pressure(scene: Scene, symptom: Symptom, steps: list[Step[Reclaim]]) -> Fact:
    pages = max(_per_second(step, "scanned_directly") or 0.0 for step in steps)
    kills = [
        event
        for event in scene.events
        if event.rule == OF_THE_NODE and symptom.begin_ns - OOM_NS < event.time_ns <= symptom.end_ns
    ]
    by_kswapd = max(_per_second(step, "scanned_by_kswapd") or 0.0 for step in steps)
    least = min((step.after.value for step in steps), key=lambda value: value.available_bytes)
    evidence = (
        Evidence("pages scanned by waiting tasks", round(pages), "pages/s", f"{VMSTAT} pgscan_direct"),
        Evidence("pages scanned by kswapd", round(by_kswapd), "pages/s", f"{VMSTAT} pgscan_kswapd"),
        Evidence("memory available", least.available_bytes, "bytes", "/proc/meminfo MemAvailable"),
        Evidence("processes killed for memory", len(kills), "processes", "kernel log"),
    )
    scanned = pages >= scene.limit("reclaim-pressure.direct_scan_pages_per_second")
    # kswapd alone is ordinary where files are read; with hardly anything left it is not.
    short = least.available_bytes < scene.limit("diagnosis.available_ratio") * least.total_bytes
    return Fact(scanned or short or bool(kills), evidence)


def _allocator(scene: Scene, steps: list[Step[Reclaim]]) -> Fact:
    rates = [rate for step in steps if (rate := _per_second(step, "compaction_stalls")) is not None]
    if not rates:
        return Fact(None, unknown="trouble with large pages: the kernel does not count compaction")
    evidence = Evidence(
        "tasks that waited for large pages", round(max(rates), 1), "stalls/s", f"{VMSTAT} compact_stall"
    )
    return Fact(max(rates) >= scene.limit("diagnosis.compaction_stalls_per_second"), (evidence,))


def _per_second(step: Step[Reclaim], name: str) -> float | None:
    before, after = getattr(step.before.value, name), getattr(step.after.value, name)
    return None if before is None or after is None else (after - before) / max(step.seconds, 0.001)
