"""Other explanations, and whether what was seen rules them out."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.causes import load_causes
from necroscope.diagnosis.facts.fact import Facts, Words, all_hold, bare, evidence_of
from necroscope.model.diagnosis import Rival
from necroscope.model.examination import NotChecked


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
