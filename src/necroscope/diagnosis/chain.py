"""Follow the links of causes.toml from a symptom to its root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.diagnosis.causes import LinkRule, load_causes
from necroscope.diagnosis.fact import Facts, Words, all_hold, bare, evidence_of, holds
from necroscope.model.diagnosis import Link, Strength
from necroscope.model.plan import Treatment

# Where a chain ends, by what is felt there.
ENDS = {"nic-reset": "nic-reset", "cgroup-leak": "zombies"}
CORE = "core"  # of all that is felt on a core


@dataclass(frozen=True, slots=True)
class Chain:
    """Links, the root first, what would break them, and what was looked for and not found."""

    links: tuple[Link, ...]
    missing: tuple[str, ...]
    treatments: tuple[Treatment, ...]


def find_chain(kind: str, facts: Facts, words: Words) -> Chain:
    """The chain that ends in a symptom of a kind."""
    node = ENDS.get(kind, CORE)
    rules: list[LinkRule] = []
    missing: list[str] = []
    while True:
        looked = [rule for rule in load_causes().links if rule.target == node and all_hold(facts, rule.when)]
        found = next((rule for rule in looked if _is_there(facts, rule)), None)
        if found is None:
            missing += _missing(looked, facts, words)
            break
        rules.append(found)
        missing += [facts[name].unknown for name in found.may_lack if facts[name].holds is None]
        node = found.source
    rules.reverse()
    treatments = (_treatment(asked, words) for rule in rules for asked in rule.remedies)
    return Chain(
        tuple(_link(rule, facts, words) for rule in rules),
        tuple(dict.fromkeys(missing)),
        tuple(dict.fromkeys(treatments)),
    )


def _treatment(asked: str, words: Words) -> Treatment:
    """`disable-unit {unit}`, with the unit in its place."""
    remedy, _, subject = asked.partition(" ")
    return Treatment(remedy, subject.format_map(words))


def _is_there(facts: Facts, rule: LinkRule) -> bool:
    lacks = all(holds(facts, name) is not False for name in rule.may_lack)
    return lacks and all_hold(facts, rule.needs) is True


def _link(rule: LinkRule, facts: Facts, words: Words) -> Link:
    return Link(
        id=rule.id,
        cause=rule.cause.format_map(words),
        effect=rule.effect.format_map(words),
        strength=_strength(rule, facts),
        # What is of this link alone comes first.
        evidence=evidence_of(facts, (*rule.needs, *rule.bounds, *rule.may_lack, *rule.supports, *rule.when)),
        reference=rule.reference.format_map(words),
        refuted_by=rule.refuted_by.format_map(words),
    )


def _strength(rule: LinkRule, facts: Facts) -> Strength:
    if any(facts[name].holds is None for name in rule.may_lack):
        return Strength.WEAK
    seen = [holds(facts, name) for name in rule.supports]
    if False in seen:
        return Strength.FAIR if True in seen else Strength.WEAK
    is_bound = all_hold(facts, rule.bounds) is not True
    return Strength.STRONG if True in seen and not is_bound else Strength.FAIR


def _missing(looked: Sequence[LinkRule], facts: Facts, words: Words) -> list[str]:
    """What should have led on, and why it could not be seen."""
    names = (name for rule in looked for name in rule.needs if holds(facts, name) is None)
    unknown = list(dict.fromkeys(facts[bare(name)].unknown for name in names))
    texts = [rule.missing.format_map(words) for rule in looked if rule.missing]
    why = f" ({'; '.join(unknown)})" if unknown else ""
    return [f"{text}{why}" for text in texts] or unknown
