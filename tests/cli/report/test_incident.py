from __future__ import annotations

from dataclasses import replace

from necroscope.cli.report.diagnosis_part import ABOUT_LEAKS
from necroscope.cli.report.incident import best_first, each_subject_first
from necroscope.diagnosis.leak_facts import leaks
from necroscope.diagnosis.symptom import symptom_of
from necroscope.model.diagnosis import Diagnosis, Link, Strength
from necroscope.model.event import Event
from necroscope.model.finding import Evidence
from necroscope.model.fix import Fix, FixState
from necroscope.model.plan import Treatment
from necroscope.store.store import StoredSegment
from necroscope.store.stored_events import StoredEvent
from tests.diagnosis.scenes import NIC_LINE, scene_of
from tests.remedies.on_record import plan_of

SEGMENT: StoredSegment = None  # type: ignore[assignment]


def symptom(unit: str, second: int, kind: str = "cgroup-leak") -> StoredEvent:
    event = Event(kind, second * 10**9, "a test", "", unit=unit)
    return StoredEvent(f"{unit}-{second}", second * 10**9, event, SEGMENT)


def diagnosis(of: StoredEvent, leaked: int = 0, conclusion: str = "leak") -> Diagnosis:
    """One with a chain where it leaked any."""
    evidence = Evidence(f"cgroups leaked by {of.event.unit}", leaked, "cgroups", "a test")
    link = Link("unit-leaks-cgroups", "", "", Strength.STRONG, (evidence,), "", "")
    return Diagnosis(conclusion, "", of.id, (link,) if leaked else (), (), None, (), (), (), ())


def fix(unit: str) -> Fix:
    plan = plan_of((), (Treatment("disable-unit", unit), Treatment("purge-zombies", "/")))
    return Fix("a-fix", FixState.APPLIED, "a test", 1, 2, plan, ())


SMALL, LARGE, THIN = symptom("small", 3), symptom("large", 2), symptom("thin", 9)
ALL = [THIN, SMALL, LARGE]
FOUND = [diagnosis(THIN, conclusion="unexplained"), diagnosis(SMALL, 50), diagnosis(LARGE, 20_000)]


def order(found: list[Diagnosis], *fixes: Fix) -> list[str]:
    return [one.symptom for one in best_first(found, ALL, fixes)]


def test_an_explained_one_comes_first_and_the_largest_of_them() -> None:
    assert order(FOUND) == ["large-2", "small-3", "thin-9"]


def test_what_was_treated_comes_before_what_is_larger_but_not_before_what_is_explained() -> None:
    assert order(FOUND, fix("small")) == ["small-3", "large-2", "thin-9"]
    assert order(FOUND, fix("thin")) == ["large-2", "small-3", "thin-9"]


def test_a_diagnosis_that_asks_for_what_was_done_was_treated() -> None:
    by_root = replace(diagnosis(LARGE, 1), treatments=(Treatment("limit-crash-loop", "ecs.service"),))
    assert order([FOUND[1], by_root], fix("ecs.service")) == ["large-2", "small-3"]


def test_a_conclusion_without_a_chain_is_better_than_none_and_else_the_newest_leads() -> None:
    concluded = [diagnosis(THIN, conclusion="unexplained"), diagnosis(SMALL), diagnosis(LARGE)]
    assert order(concluded) == ["small-3", "large-2", "thin-9"]


def test_the_newest_of_each_subject_is_looked_at_before_the_others() -> None:
    often = [symptom("often", second) for second in (9, 8, 7)]
    assert each_subject_first([THIN, *often, LARGE]) == [often[0], THIN, LARGE, *often[1:]]


def test_every_question_about_a_leak_is_known_as_one() -> None:
    scene = scene_of(["idle"] * 10)
    found = leaks(scene, symptom_of(scene, replace(NIC_LINE, kind="cgroup-leak")))
    unknown = [fact.unknown for fact in found.facts.values() if fact.holds is None]
    assert unknown and all(one.startswith(ABOUT_LEAKS) for one in unknown)
