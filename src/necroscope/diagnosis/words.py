"""What is put into the sentences of causes.toml."""

from __future__ import annotations

from necroscope.diagnosis.facts.culprit_facts import Accused
from necroscope.diagnosis.facts.fact import Facts
from necroscope.diagnosis.facts.leak_facts import Leaks
from necroscope.diagnosis.facts.observe import Observed
from necroscope.diagnosis.facts.starvation import CoreBefore, Starvation
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS

UNKNOWN = "unknown"


def words_of(scene: Scene, observed: Observed) -> dict[str, str]:
    """Every word that a sentence may ask for; what is not known is said so."""
    facts, symptom, found = observed.facts, observed.symptom, observed.starvation
    accused, leak = observed.accused, observed.leaks
    return {
        **_where(scene, symptom, found),
        **_who(accused, found.core),
        **_others(found),
        **_leak(scene, symptom, leak),
        "because": _because(facts, leak),
        "leaks_or_not": f"all it leaked are {leak.owner.leaked:,} memory cgroups"
        if leak.owner and facts["cgroups-leaked"].holds
        else "it leaves no memory cgroups behind",
        "older": ": they are older than the ledger" if facts["cgroups-leaked"].holds is False else "",
        "stop": _stop(facts, accused, leak),
        "unknown": "; ".join(
            dict.fromkeys(f.unknown for f in facts.values() if f.holds is None and f.unknown)
        )
        or "what was seen fits no explanation we know",
    }


def _where(scene: Scene, symptom: Symptom, found: Starvation) -> dict[str, str]:
    event, core = symptom.event, found.core
    number = event.queue if event.queue is not None else found.queue.queue if found.queue else None
    return {
        "symptom": scene.name_of(event),
        "device": event.device or event.bus or "the network device",
        "queue": f"queue {number}" if number is not None else "(no queue named)",
        "irq": str(found.queue.irq) if found.queue else "N",
        "stalled": f" for {event.stall_seconds:.1f} s" if event.stall_seconds else "",
        "core": str(core.core) if core else UNKNOWN,
        "kernel_seconds": f"{core.kernel_run_seconds:.0f}" if core else UNKNOWN,
        "busy_share": _percent(core, "busy"),
        "kernel_share": _percent(core, "kernel"),
        "user_share": _percent(core, "user"),
        "steal_share": _percent(core, "steal"),
    }


def _percent(core: CoreBefore | None, mode: str) -> str:
    return f"{core.mean(mode):.0%}" if core else UNKNOWN


def _who(accused: Accused, core: CoreBefore | None) -> dict[str, str]:
    runner = core.runners[0] if core and core.runners else None
    culprit = accused.culprit
    process, function = runner.process if runner else "", ""
    if culprit:
        process, function = culprit.process or "many processes", culprit.function
    inside = f" in {function}" if function else ""
    return {
        "process": process or UNKNOWN,
        "function": function or "a kernel function that is not known",
        "with": f", {process}{inside}" if process else "",
        "runner": f"{runner.process}, {runner.share:.0%}" if runner else UNKNOWN,
        "runner_process": runner.process if runner else UNKNOWN,
    }


def _others(found: Starvation) -> dict[str, str]:
    worst = max(found.others, key=lambda core: core.kernel_run_seconds, default=None)
    runner = worst.runners[0] if worst and worst.runners else None
    return {
        "other_core": str(worst.core) if worst else UNKNOWN,
        "other_process": runner.process if runner else UNKNOWN,
    }


def _leak(scene: Scene, symptom: Symptom, leak: Leaks) -> dict[str, str]:
    count = scene.value_at(MEMORY_CGROUPS, symptom.end_ns)
    owner, loop = leak.owner, leak.loop
    return {
        "unit": loop.unit if loop else owner.name if owner else UNKNOWN,
        "restart_rate": f"{loop.per_minute:.1f}" if loop else UNKNOWN,
        "owner": owner.name if owner else UNKNOWN,
        "leaked": f"{owner.leaked:,}" if owner else UNKNOWN,
        "leak_rate": f"{owner.per_minute:,.0f}" if owner else UNKNOWN,
        "zombies": f"{count.memory.dying:,}" if count else UNKNOWN,
        "tracked": f"{count.memory.tracked:,}" if count else UNKNOWN,
    }


def _because(facts: Facts, leak: Leaks) -> str:
    """The root, for the verdict."""
    if not (facts["zombies-many"].holds and facts["culprit-walks-cgroups"].holds):
        return ""
    root = ""
    if facts["unit-made-them"].holds and leak.loop:
        root = f", which {leak.loop.unit} leaks as it is started again and again"
    elif leak.owner:
        root = f", which {leak.owner.name} leaks"
    return f", walking {leak.dying:,} zombie memory cgroups{root}"


def _stop(facts: Facts, accused: Accused, leak: Leaks) -> str:
    """The first thing to do about the root."""
    if facts["unit-made-them"].holds and leak.loop:
        unit = leak.loop.unit
        return f"if nothing on this node needs it: systemctl disable --now {unit}; then free the zombies"
    if leak.owner and facts["cgroups-leaked"].holds:
        return f"find out why {leak.owner.name} leaves cgroups behind: necroscope zombies --list"
    if accused.culprit and accused.culprit.function:
        return f"find out why {accused.culprit.process} is in {accused.culprit.function}"
    return ""
