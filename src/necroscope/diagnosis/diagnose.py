"""Why a symptom happened: gather the facts, follow the links, weigh what else it could be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from necroscope.diagnosis.causes import OF_THE_ROOT, ConclusionRule, load_causes
from necroscope.diagnosis.chain import find_chain
from necroscope.diagnosis.fact import Facts, Words, all_hold, bare, evidence_of
from necroscope.diagnosis.observe import Observed, observe
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.words import root_advice, root_words, words_of
from necroscope.model.advice import Advice
from necroscope.model.diagnosis import Diagnosis, Rival
from necroscope.model.event import Event
from necroscope.model.examination import NotChecked


def diagnose(scene: Scene, event: Event) -> Diagnosis:
    """The chain behind an event of a scene, and how sure it is."""
    return conclude(scene, observe(scene, event))


def conclude(scene: Scene, observed: Observed) -> Diagnosis:
    """The chain behind an event that has been looked at."""
    event = observed.symptom.event
    facts, words = observed.facts, words_of(scene, observed)
    chain = find_chain(event.kind, facts, words)
    words["root"] = root_words(observed, chain.links)
    rivals = weigh_rivals(event.kind, facts, words)
    conclusion = next(
        rule for rule in load_causes().conclusions if event.kind in rule.of and all_hold(facts, rule.when)
    )
    return Diagnosis(
        conclusion=conclusion.id,
        verdict=conclusion.verdict.format_map(words),
        symptom=scene.name_of(event),
        chain=chain.links if conclusion.explains else (),
        missing=chain.missing if conclusion.explains else (),
        culprit=observed.accused.culprit,
        ruled_out=rivals.out,
        standing=rivals.standing,
        not_checked=_not_checked(rivals.not_checked, facts),
        advice=tuple(_advice(conclusion, words, root_advice(observed, chain.links))),
        treatments=chain.treatments if conclusion.explains else (),
        by_accident=observed.accidents,
    )


def _advice(
    conclusion: ConclusionRule, words: Mapping[str, str], of_the_root: Sequence[Advice]
) -> Iterator[Advice]:
    for rule in conclusion.advice:
        yield from of_the_root if rule.text == OF_THE_ROOT else (rule.filled(words),)


def _not_checked(rivals: Sequence[NotChecked], facts: Facts) -> tuple[NotChecked, ...]:
    """What could not be told: explanations that could not be weighed, and each other reason once."""
    said = " ".join(row.reason for row in rivals)
    unknown = dict.fromkeys(fact.unknown for fact in facts.values() if fact.holds is None)
    rest = [reason for reason in unknown if reason and reason not in said]
    return (*rivals, *(NotChecked("diagnosis", reason, "", ("diagnosis",)) for reason in rest))


@dataclass(frozen=True, slots=True)
class Rivals:
    """Which are out, which are not, and which could not be looked at."""

    out: tuple[Rival, ...]
    standing: tuple[Rival, ...]
    not_checked: tuple[NotChecked, ...]


def weigh_rivals(kind: str, facts: Facts, words: Words) -> Rivals:
    """All explanations that rival for a symptom of a kind."""
    out, standing, not_checked = [], [], []
    for rule in load_causes().rivals:
        if kind not in rule.of:
            continue
        evidence = evidence_of(facts, rule.out)
        is_out = all_hold(facts, rule.out)
        if is_out is None:
            unknown = [facts[bare(name)].unknown for name in rule.out if facts[bare(name)].holds is None]
            reason = "; ".join(dict.fromkeys(unknown))
            hint = "record this node as root: necroscope record"
            not_checked.append(NotChecked(rule.id, reason, hint, ("diagnosis",)))
        elif is_out:
            out.append(Rival(rule.id, rule.explanation, rule.why_out.format_map(words), evidence))
        else:
            standing.append(Rival(rule.id, rule.explanation, rule.why_in.format_map(words), evidence))
    return Rivals(tuple(out), tuple(standing), tuple(not_checked))
