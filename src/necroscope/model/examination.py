"""What all detectors together made of a segment."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.event import Event
from necroscope.model.finding import Evidence, Finding


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A source that gave nothing, why, what would help, and the detectors that miss it."""

    source: str
    reason: str
    hint: str
    affects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Examination:
    """Findings, worst first; the events behind them; what was seen; what could not be looked at."""

    findings: tuple[Finding, ...]
    events: tuple[Event, ...]
    seen: tuple[Evidence, ...]
    not_checked: tuple[NotChecked, ...]
    checked: tuple[str, ...]  # the detectors that ran
