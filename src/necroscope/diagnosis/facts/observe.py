"""All that can be found out about a symptom."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.facts.accident_facts import Accidents, accidents
from necroscope.diagnosis.facts.core_facts import core_facts
from necroscope.diagnosis.facts.culprit_facts import Accused, accuse
from necroscope.diagnosis.facts.fact import Facts
from necroscope.diagnosis.facts.leak_facts import Leaks, leaks
from necroscope.diagnosis.facts.memory_facts import memory_facts
from necroscope.diagnosis.facts.starvation import Starvation, starvation
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom, symptom_of
from necroscope.model.event import Event


@dataclass(frozen=True, slots=True)
class Observed:
    """The facts about a symptom, and what they were made of."""

    symptom: Symptom
    starvation: Starvation
    accused: Accused
    leaks: Leaks
    accidents: Accidents
    facts: Facts


def observe(scene: Scene, event: Event) -> Observed:
    """Look at an event from all sides."""
    symptom = symptom_of(scene, event)
    found = starvation(scene, symptom)
    accused = accuse(scene, symptom, found)
    leak = leaks(scene, symptom)
    accident = accidents(scene, symptom)
    facts = {
        **core_facts(scene, symptom, found),
        **accused.facts,
        **leak.facts,
        **memory_facts(scene, symptom),
        **accident.facts,
    }
    return Observed(symptom, found, accused, leak, accident, facts)
