"""What is known of memory pressure and of trouble with finding large pages."""

from __future__ import annotations

from necroscope.diagnosis.facts.fact import Fact
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.model.finding import Evidence
from necroscope.signals.reclaim import Reclaimed, kills_of_the_node, over
from necroscope.sources.reclaim import RECLAIM

VMSTAT = "/proc/vmstat"


def memory_facts(scene: Scene, symptom: Symptom) -> dict[str, Fact]:
    """Whether tasks searched for memory, or for large pages, in the seconds before."""
    reclaimed = [
        one for one in over(scene.segment) if symptom.begin_ns < one.end_ns <= symptom.end_ns + 10**9
    ]
    if not reclaimed:
        unknown = Fact(None, unknown=f"memory pressure ({scene.why_not(RECLAIM)})")
        return {"memory-pressure": unknown, "allocator-stalls": unknown}
    return {
        "memory-pressure": _pressure(scene, symptom, reclaimed),
        "allocator-stalls": _allocator(scene, reclaimed),
    }


def _pressure(scene: Scene, symptom: Symptom, reclaimed: list[Reclaimed]) -> Fact:
    pages = max(one.pages_per_second for one in reclaimed)
    since_ns = symptom.begin_ns - int(scene.limit("diagnosis.killed_seconds") * 1e9)
    kills = kills_of_the_node(one for one in scene.events if since_ns < one.time_ns <= symptom.end_ns)
    by_kswapd = max(one.per_second(one.scanned_by_kswapd) for one in reclaimed)
    least = min((one.left for one in reclaimed), key=lambda left: left.available_bytes)
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


def _allocator(scene: Scene, reclaimed: list[Reclaimed]) -> Fact:
    stalls = [one.per_second(count) for one in reclaimed if (count := one.compaction_stalls) is not None]
    if not stalls:
        return Fact(None, unknown="trouble with large pages: the kernel does not count compaction")
    evidence = Evidence(
        "tasks that waited for large pages", round(max(stalls), 1), "stalls/s", f"{VMSTAT} compact_stall"
    )
    return Fact(max(stalls) >= scene.limit("diagnosis.compaction_stalls_per_second"), (evidence,))
