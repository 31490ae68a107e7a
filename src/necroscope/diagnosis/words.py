"""What is put into the sentences of causes.toml."""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.diagnosis.facts.culprit_facts import Accused
from necroscope.diagnosis.facts.observe import Observed
from necroscope.diagnosis.facts.starvation import CoreBefore, Starvation
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.model.diagnosis import Link
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS

UNKNOWN = "unknown"


def words_of(scene: Scene, observed: Observed) -> dict[str, str]:
    """Every word that a sentence may ask for, but those of the root; what is not known is said so."""
    facts, found = observed.facts, observed.starvation
    unknown = dict.fromkeys(fact.unknown for fact in facts.values() if fact.holds is None and fact.unknown)
    return {
        **_where(scene, observed.symptom, found),
        **_who(observed.accused, found.core),
        **_others(found),
        **_leak(scene, observed),
        **_starved(observed),
        "unknown": "; ".join(unknown) or "what was seen fits no explanation we know",
    }


def root_words(observed: Observed, links: Sequence[Link]) -> dict[str, str]:
    """What the root of a chain is, and what to do about it first."""
    found = {link.id for link in links}
    leak, culprit = observed.leaks, observed.accused.culprit
    unit = leak.loop.unit if leak.loop else UNKNOWN
    owner = leak.owner.name if leak.owner else UNKNOWN
    root = stop = ""
    if culprit and culprit.function:
        stop = f"find out why {culprit.process or 'so many'} is in {culprit.function}"
    if "zombies-slow-the-kernel" in found:
        root = f", walking {leak.dying:,} zombie memory cgroups"
    if "shortage-makes-reclaim" in found:
        root, stop = ", because memory was short", "find out what took the memory (reclaim-pressure)"
    if "unit-leaks-cgroups" in found:
        root += f", which {unit} leaks as it is started again and again" if root else ""
        stop = f"if nothing on this node needs it: systemctl disable --now {unit}; then free the zombies"
    if "owner-leaks-cgroups" in found:
        root += f", which {owner} leaks" if root else ""
        stop = f"find out why {owner} leaves cgroups behind: necroscope zombies --list"
    return {"root": root, "stop": stop}


def _starved(observed: Observed) -> dict[str, str]:
    """What is said of whether network work waited, and by whom."""
    facts, event, core = observed.facts, observed.symptom.event, observed.starvation.core
    by_driver = facts["napi-scheduled"].holds
    counters = [facts[name].holds for name in ("softirq-delayed", "interrupts-unserved")]
    doubt = by_driver and False in counters and True not in counters
    delay = core.softirq_delay_seconds if core else None
    waited = f"ksoftirqd waited {delay:.2f} s" if delay is not None else "NET_RX ran"
    doubted = f". The driver says that its network work waited; the counters do not show it ({waited})"
    is_free = by_driver and facts["core-in-kernel"].holds is False
    return {
        "because": "because" if facts["starvation-seen"].holds and not doubt else "while",
        "doubt": doubted if doubt else "",
        "told": "the driver says" if by_driver else "the counters show",
        "waited": waited,
        "though": ", though the driver says that its network work waited" if is_free else "",
        "by_program": " (the line was written by a program)" if event.from_user_space else "",
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
        "softirq_share": _percent(core, "softirq"),
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
        "walk": accused.walk.function if accused.walk else UNKNOWN,
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


def _leak(scene: Scene, observed: Observed) -> dict[str, str]:
    count = scene.value_at(MEMORY_CGROUPS, observed.symptom.end_ns)
    owner, loop = observed.leaks.owner, observed.leaks.loop
    leaked = observed.facts["cgroups-leaked"].holds
    return {
        "unit": loop.unit if loop else owner.name if owner else UNKNOWN,
        "restart_rate": f"{loop.per_minute:.1f}" if loop else UNKNOWN,
        "owner": owner.name if owner else UNKNOWN,
        "leaked": f"{owner.leaked:,}" if owner else UNKNOWN,
        "leak_rate": f"{owner.per_minute:,.0f}" if owner else UNKNOWN,
        "zombies": f"{count.memory.dying:,}" if count else UNKNOWN,
        "tracked": f"{count.memory.tracked:,}" if count else UNKNOWN,
        "leaks_or_not": f"all it leaked are {owner.leaked:,} memory cgroups"
        if owner and leaked
        else "it leaves no memory cgroups behind",
        "older": "" if leaked is None else ": most of them are older than the ledger",
    }
