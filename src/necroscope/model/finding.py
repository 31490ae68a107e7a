"""What a detector concludes."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from necroscope.model.advice import Advice


class Severity(enum.Enum):
    """How soon a person should look, worst first."""

    CRITICAL = "critical"  # users are hurt now, or about to be
    WARNING = "warning"  # it will hurt, or explains a hurt
    INFO = "info"  # worth knowing while searching; harmless by itself

    @property
    def rank(self) -> int:
        """0 is the worst."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One fact behind a finding, and where it was read, so that anyone can check it."""

    name: str
    value: float | int | str
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong: how bad, why we say so, and what to do next."""

    id: str
    severity: Severity
    summary: str
    evidence: tuple[Evidence, ...]
    advice: tuple[Advice, ...] = ()
    subject: str = ""  # the unit or core that it is about; empty where it is about the machine
    remedy: str = ""  # the id of what would mend it; empty where only a person can
