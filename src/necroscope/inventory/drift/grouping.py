"""Which hosts are compared with which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import comb

from necroscope.inventory.drift.fact_table import Hosts

SICK_NAMES = ("failing", "failed", "bad", "broken", "sick", "unhealthy", "affected")
LEAST_P = 0.01  # what could not be less likely by chance is not worth a test


@dataclass(frozen=True, slots=True)
class Groups:
    """The hosts by group, and the group that is to be explained; None: single hosts as they are."""

    sets: Mapping[str, Hosts]
    symptom_name: str | None
    symptom: Hosts = field(init=False)
    rest: Hosts = field(init=False)  # all others, of whatever group

    def __post_init__(self) -> None:
        symptom = self.sets[self.symptom_name] if self.symptom_name is not None else 0
        rest = 0
        for hosts in self.sets.values():
            rest |= hosts & ~symptom
        object.__setattr__(self, "symptom", symptom)
        object.__setattr__(self, "rest", rest)

    @property
    def can_count(self) -> bool:
        """Whether there are hosts enough for any difference to be more than chance."""
        symptom, rest = self.symptom.bit_count(), self.rest.bit_count()
        return bool(symptom and rest) and 2 / comb(symptom + rest, symptom) <= LEAST_P


def sick_among(names: Iterable[str]) -> list[str]:
    """The groups whose names say that they are to be explained."""
    return [name for name in names if name.lower() in SICK_NAMES]
