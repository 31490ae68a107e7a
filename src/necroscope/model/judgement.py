"""What an audit makes of an inventory, after the policy has had its say."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.examination import NotChecked
from necroscope.model.finding import Finding


@dataclass(frozen=True, slots=True)
class Allowed:
    """A finding that the policy accepts, and its reason."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """Findings, worst first; those that were allowed; what of the policy had no effect; what is not known."""

    findings: tuple[Finding, ...]
    allowed: tuple[Allowed, ...]
    unused: tuple[str, ...]  # what of the policy has no effect, and why
    not_checked: tuple[NotChecked, ...]
