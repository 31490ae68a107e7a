"""What is put into the sentences of causes.toml."""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.diagnosis.culprit_facts import Accused
from necroscope.diagnosis.observe import Observed
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.starvation import CoreBefore, Starvation
from necroscope.diagnosis.symptom import Symptom
from necroscope.findings.unit_held_back import sentence
from necroscope.model.advice import Advice, fix_command
from necroscope.model.diagnosis import Link
from necroscope.model.remedy_ids import DISABLE_UNIT, PURGE_ZOMBIES
from necroscope.model.shell_command import necroscope_command, option
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS

UNKNOWN = "unknown"
NOTHING_TO_DO = "the queue was idle, nothing to send or to complete was recorded"


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
        "held_back": "; ".join(map(sentence, observed.accidents)),
        "unknown": "; ".join(unknown) or "what was seen fits no explanation we know",
    }


def root_words(observed: Observed, links: Sequence[Link]) -> str:
    """Return what the root of a chain is, as the end of a sentence."""
    found = {link.id for link in links}
    leak, root = observed.leaks, ""
    if "zombies-slow-the-kernel" in found:
        root = f", walking {leak.dying:,} zombie memory cgroups"
    if "shortage-makes-reclaim" in found:
        root = ", because memory was short"
    if "unit-leaks-cgroups" in found and root:
        root += f", which {leak.loop.unit if leak.loop else UNKNOWN} leaks as it is started again and again"
    if "owner-leaks-cgroups" in found and root:
        root += f", which {leak.owner.name if leak.owner else UNKNOWN} leaks"
    return root


def root_advice(observed: Observed, links: Sequence[Link]) -> tuple[Advice, ...]:
    """Return what to do about the root of a chain first."""
    found = {link.id for link in links}
    leak, culprit = observed.leaks, observed.accused.culprit
    if "owner-leaks-cgroups" in found:
        owner = leak.owner.name if leak.owner else UNKNOWN
        see = necroscope_command("zombies", options=["--list"])
        return (Advice(f"find out why {owner} leaves cgroups behind", see),)
    if "unit-leaks-cgroups" in found:
        unit = leak.loop.unit if leak.loop else UNKNOWN
        return (
            Advice("if nothing on this node needs it", fix_command(DISABLE_UNIT, unit)),
            Advice("then free the zombies", fix_command(PURGE_ZOMBIES)),
        )
    if "shortage-makes-reclaim" in found:
        return (Advice("find out what took the memory (reclaim-pressure)"),)
    if culprit and culprit.function:
        return (Advice(f"find out why {culprit.process or 'so many'} is in {culprit.function}"),)
    return ()


def _starved(observed: Observed) -> dict[str, str]:
    """What is said of whether network work waited, and by whom."""
    facts, event, core = observed.facts, observed.symptom.event, observed.starvation.core
    is_told = facts["napi-scheduled"].holds
    is_driver = not event.from_user_space
    teller = "the driver says" if is_driver else "the line says"
    delay = core.softirq_delay_seconds if core else None
    waited = f"ksoftirqd waited {delay:.2f} s" if delay is not None else "NET_RX ran"
    doubt = _doubt(observed, teller, waited)
    is_free = is_told and facts["core-in-kernel"].holds is False
    return {
        "teller": teller,
        "saw": "the driver saw it" if is_driver else "the line says it was",
        "own": "the driver's own" if is_driver else "the line's",
        "stalls": "stalled" if is_driver else "is said to have stalled,",
        "because": "because" if facts["starvation-shown"].holds and not doubt else "while",
        "doubt": doubt,
        "told": teller if is_told and is_driver else "the counters show",
        "waited": waited,
        "had_time": _had_time(observed, waited, teller),
        "though": f", though {teller} that its network work waited" if is_free else "",
        "by_program": "" if is_driver else " (the line was written by a program)",
    }


def _doubt(observed: Observed, teller: str, waited: str) -> str:
    """What is said where the counters contradict the line."""
    facts = observed.facts
    if facts["queue-used"].holds is False:
        return f". The counters contradict the line: {NOTHING_TO_DO}"
    counters = [facts[name].holds for name in ("softirq-delayed", "interrupts-unserved")]
    if facts["napi-scheduled"].holds and False in counters and True not in counters:
        return f". {teller.capitalize()} that its network work waited; the counters do not show it ({waited})"
    return ""


def _had_time(observed: Observed, waited: str, teller: str) -> str:
    """Why the network work of the core is not said to have been late."""
    facts, core = observed.facts, observed.starvation.core
    number = core.core if core else UNKNOWN
    if facts["core-in-softirq"].holds:
        return f"core {number} was full of softirqs, and not kept from them"
    if not facts["core-in-kernel"].holds:
        return f"core {number} had time for its network work"
    if facts["napi-denied"].holds:
        return f"core {number} was full, but {teller} that no network work was waiting for it"
    if facts["queue-used"].holds is False:
        return (
            f"core {number} was full, but {NOTHING_TO_DO}, and only a line that a program wrote tells of it"
        )
    return f"core {number} was full, but its network work did not wait ({waited})"


def _where(scene: Scene, symptom: Symptom, found: Starvation) -> dict[str, str]:
    event, core = symptom.event, found.core
    around = option("--around", scene.name_of(event))
    number = event.queue if event.queue is not None else found.queue.queue if found.queue else None
    return {
        "symptom": scene.name_of(event),
        "samples": necroscope_command(
            "flame", options=[*around, "--cpu", str(core.core) if core else UNKNOWN]
        ),
        "device": event.device or event.bus or "the network device",
        "device_name": event.device or "DEVICE",
        "queue": f"queue {number}" if number is not None else "(no queue named)",
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
    return f"{core.usage.ratio(mode):.0%}" if core else UNKNOWN


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
        "restart_rate": f"{loop.pace.per_minute:.1f}" if loop else UNKNOWN,
        "restart_time": loop.pace.words if loop else UNKNOWN,
        "owner": owner.name if owner else UNKNOWN,
        "leaked": f"{owner.leaked:,}" if owner else UNKNOWN,
        "leak_rate": f"{owner.pace.per_minute:,.0f}" if owner else UNKNOWN,
        "leak_time": owner.pace.words if owner else UNKNOWN,
        "zombies": f"{count.memory.dying:,}" if count else UNKNOWN,
        "tracked": f"{count.memory.tracked:,}" if count else UNKNOWN,
        "leaks_or_not": f"all it leaked are {owner.leaked:,} memory cgroups"
        if owner and leaked
        else "it leaves no memory cgroups behind",
        "older": "" if leaked is None else ": most of them are older than the ledger",
    }
