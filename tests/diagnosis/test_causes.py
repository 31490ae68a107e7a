from __future__ import annotations

import string
from collections.abc import Sequence

import pytest

from necroscope.diagnosis.causes import AdviceRule, LinkRule, load_causes
from necroscope.diagnosis.diagnose import diagnose
from necroscope.diagnosis.fact import bare
from necroscope.diagnosis.symptom import KINDS
from necroscope.model.event import EVENT_KINDS
from tests.diagnosis.scenes import NIC_LINE, facts_of, scene_of, words_of_scene

CAUSES = load_causes()


def spoken(rules: Sequence[AdviceRule]) -> list[str]:
    return [part for rule in rules for part in (rule.text, rule.command)]


SENTENCES = [
    *(text for rule in CAUSES.links for text in (rule.cause, rule.effect, rule.missing, rule.reference)),
    *(text for rule in CAUSES.rivals for text in (rule.why_out, rule.why_in)),
    *(text for rule in CAUSES.conclusions for text in (rule.verdict, *spoken(rule.advice))),
]


def names_in_rules() -> set[str]:
    names = {
        name
        for rule in CAUSES.links
        for name in (*rule.when, *rule.needs, *rule.may_lack, *rule.supports, *rule.bounds)
    }
    names |= {name for rule in CAUSES.rivals for name in rule.out}
    names |= {name for rule in CAUSES.conclusions for name in rule.when}
    return {bare(name) for name in names}


def test_every_fact_of_the_rules_is_found_out() -> None:
    assert names_in_rules() <= set(facts_of(scene_of(["idle"] * 8), NIC_LINE))


def test_every_fact_that_is_found_out_is_used() -> None:
    assert set(facts_of(scene_of(["idle"] * 8), NIC_LINE)) == names_in_rules()


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_word_of_a_sentence_is_known(sentence: str) -> None:
    wanted = {name for _, name, _, _ in string.Formatter().parse(sentence) if name}
    assert wanted <= set(words_of_scene(scene_of(["idle"] * 8), NIC_LINE))


def test_every_symptom_comes_to_a_conclusion() -> None:
    for kinds in KINDS:
        for kind in kinds:
            assert kind in EVENT_KINDS
            last = [rule for rule in CAUSES.conclusions if kind in rule.of][-1]
            assert not last.when, "the last one takes what fits no other"


def test_links_lead_from_every_cause_to_a_symptom() -> None:
    ends = {"nic-reset", "core", "zombies"}
    reached = set(ends)
    for _ in CAUSES.links:
        reached |= {rule.source for rule in CAUSES.links if rule.target in reached}
    assert {rule.source for rule in CAUSES.links} <= reached


@pytest.mark.parametrize("rule", CAUSES.links, ids=lambda rule: rule.id)
def test_every_link_says_where_it_is_described_and_what_would_refute_it(rule: LinkRule) -> None:
    assert rule.reference and rule.refuted_by


def test_a_diagnosis_of_nothing_recorded_says_so() -> None:
    found = diagnose(scene_of([]), NIC_LINE)
    assert found.conclusion == "unexplained"
    assert "too thin" in found.verdict and "cores" in found.verdict
    assert not found.chain
