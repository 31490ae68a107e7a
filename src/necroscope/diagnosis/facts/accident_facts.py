"""What a machine was free of at the time of a symptom, and only by chance."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.facts.fact import Fact, Facts
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.findings.unit_held_back import accidents_of
from necroscope.model.accident import Accident
from necroscope.model.finding import Evidence
from necroscope.sources.held_back_units import HELD_BACK_UNITS


@dataclass(frozen=True, slots=True)
class Accidents:
    """Units that a failure kept from starting."""

    units: tuple[Accident, ...]
    facts: Facts


def accidents(scene: Scene, symptom: Symptom) -> Accidents:
    """What was held back when the symptom was felt."""
    held_back = scene.value_before(HELD_BACK_UNITS, symptom.end_ns)
    if held_back is None:
        held_back = scene.value_at(HELD_BACK_UNITS, symptom.end_ns)
    if held_back is None:
        reason = f"which units a failure keeps from starting ({scene.why_not(HELD_BACK_UNITS)})"
        return Accidents((), {"units-held-back": Fact(None, unknown=reason)})
    units = accidents_of(held_back)
    evidence = tuple(Evidence("held back", one.unit, "", f"systemd, {one.unit}") for one in units)
    return Accidents(units, {"units-held-back": Fact(bool(units), evidence)})
