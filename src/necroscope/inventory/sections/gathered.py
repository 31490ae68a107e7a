"""Facts as they come, and why others did not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from necroscope.model.reading import Absence, Reading

MOST_REASONS = 3
LONGEST_VALUE = 1 << 16  # of a hostile tree: no setting is as long

Facts = Mapping[str, str]


class Gathered:
    """What one section has found so far."""

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self._missing: dict[str, Reading[Any] | None] = {}  # why, and the reading that says so

    def add(self, name: str, value: str) -> None:
        """Keep a fact; an empty value is one too: a setting that is there and empty."""
        value = value.strip()[:LONGEST_VALUE]
        self.facts[name] = value if "\n" in value else " ".join(value.split())

    def add_known(self, name: str, value: str) -> None:
        """Keep a fact unless its value is not known."""
        if value:
            self.add(name, value)

    def add_reading(self, name: str, reading: Reading[str]) -> None:
        """Keep what was read. What this machine has not got is no fact; what we may not see is said."""
        if reading.value is not None:
            self.add(name, reading.value)
        else:
            self.miss(reading)

    def miss(self, reading: Reading[Any]) -> None:
        """Remember why something is missing, unless it simply is not there."""
        if reading.absence in (Absence.NOT_PERMITTED, Absence.BROKEN, Absence.SWITCHED_OFF):
            self._missing.setdefault(reading.reason, reading)

    def say(self, reason: str) -> None:
        """Remember a reason, once."""
        if reason:
            self._missing.setdefault(reason)

    def reading(self, nothing: str = "") -> Reading[Facts]:
        """All facts, with what is missing as its detail.

        `nothing` says why there are none, if so; without it, none is an answer: there is no kubelet here.
        """
        reasons = sorted(self._missing)
        if self.facts or not (reasons or nothing):
            return Reading(self.facts, detail=_shown(reasons))
        first = next((reading for _, reading in sorted(self._missing.items()) if reading), None)
        if first is None:
            return Reading(absence=Absence.NOT_SUPPORTED, detail=nothing or _shown(reasons))
        reasons.remove(first.reason)
        return Reading(absence=first.absence, detail=_shown([first.detail, *reasons]))


def _shown(reasons: list[str]) -> str:
    more = len(reasons) - MOST_REASONS
    return "; ".join(reasons[:MOST_REASONS]) + (f"; and {more} more" if more > 0 else "")
