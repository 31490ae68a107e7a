"""All that can be found out about a symptom."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.core_facts import core_facts
from necroscope.diagnosis.culprit_facts import Accused, accuse
from necroscope.diagnosis.fact import Fact, Facts
from necroscope.diagnosis.leak_facts import Leaks, leaks
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.starvation import Starvation, starvation
from necroscope.diagnosis.symptom import Symptom, symptom_of
from necroscope.findings.unit_held_back import accidents_of
from necroscope.model.accident import Accident
from necroscope.model.event import Event
from necroscope.model.finding import Evidence
from necroscope.signals.reclaim import Reclaimed, kills_of_the_node, over
from necroscope.sources.held_back_units import HELD_BACK_UNITS
from necroscope.sources.reclaim import RECLAIM

VMSTAT = "/proc/vmstat"


@dataclass(frozen=True, slots=True)
class Observed:
    """The facts about a symptom, and what they were made of."""

    symptom: Symptom
    starvation: Starvation
    accused: Accused
    leaks: Leaks
    accidents: tuple[Accident, ...]  # units that a failure kept from starting
    facts: Facts


def observe(scene: Scene, event: Event) -> Observed:
    """Look at an event from all sides."""
    symptom = symptom_of(scene, event)
    found = starvation(scene, symptom)
    accused = accuse(scene, symptom, found)
    leak = leaks(scene, symptom)
    held_back, accident = accident_facts(scene, symptom)
    facts = {
        **core_facts(scene, symptom, found),
        **accused.facts,
        **leak.facts,
        **memory_facts(scene, symptom),
        **accident,
    }
    return Observed(symptom, found, accused, leak, held_back, facts)


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


def accident_facts(scene: Scene, symptom: Symptom) -> tuple[tuple[Accident, ...], dict[str, Fact]]:
    """Return the units that a failure kept from starting at the time, and the fact about them."""
    held_back = scene.value_before(HELD_BACK_UNITS, symptom.end_ns)
    if held_back is None:
        held_back = scene.value_at(HELD_BACK_UNITS, symptom.end_ns)
    if held_back is None:
        reason = f"which units a failure keeps from starting ({scene.why_not(HELD_BACK_UNITS)})"
        return (), {"units-held-back": Fact(None, unknown=reason)}
    units = accidents_of(held_back)
    evidence = tuple(Evidence("held back", one.unit, "", f"systemd, {one.unit}") for one in units)
    return units, {"units-held-back": Fact(bool(units), evidence)}
