"""What is wrong with the node now, as the recorder last saw it: what metrics and node conditions tell."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.finding import Severity

LOOK_BACK_SECONDS = 600.0  # what is "now": so much of the recorded time


@dataclass(frozen=True, slots=True)
class ActiveFinding:
    """A finding that stood in the time last examined; its evidence is in the store."""

    id: str
    severity: Severity
    summary: str
    subject: str = ""  # the unit or core that it is about; empty where it is about the machine


@dataclass(frozen=True, slots=True)
class NodeState:
    """The findings of the last minutes recorded. A detector in neither tuple was not asked."""

    examined_utc_ns: int  # the end of the time that was examined
    findings: tuple[ActiveFinding, ...]
    checked: tuple[str, ...]  # detectors that could look, whether they found something or not
    not_checked: tuple[tuple[str, str], ...] = ()  # detectors that could not, and why
