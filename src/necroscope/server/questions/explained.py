"""A diagnosis as the page wants it: the chain from root to symptom, and what else was weighed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from necroscope.diagnosis.diagnose_range import Explanation
from necroscope.model.advice import fix_command
from necroscope.model.diagnosis import Diagnosis, Link, Rival
from necroscope.model.finding import Evidence
from necroscope.model.plan import Treatment
from necroscope.model.remedy_ids import REMEDIES
from necroscope.model.value_text import value_text
from necroscope.server.questions.culprit import Suspect
from necroscope.server.questions.events import RecordedEvent
from necroscope.server.questions.recorded_store import Damaged
from necroscope.server.questions.selection import US_NS

Level = Literal["healthy", "trouble", "unknown"]
LEAKS = ("unit-leaks-cgroups", "owner-leaks-cgroups")
LEAK_NS = 600 * 10**9  # rates of leaks are taken over minutes


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """A fact, where it was read, and the moment that shows it."""

    name: str
    value: str | float | int
    unit: str
    source: str
    text: str  # as a person writes it
    moment_us: int | None


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One step from a cause to its effect, and the seconds in which it shows."""

    cause: str
    effect: str
    strength: str
    evidence: list[EvidenceRow]
    begin_us: int | None
    end_us: int | None


@dataclass(frozen=True, slots=True)
class RuledOut:
    """Another explanation, and what speaks against it."""

    text: str
    evidence: list[EvidenceRow]


@dataclass(frozen=True, slots=True)
class NotChecked:
    """What could not be told, and why."""

    source: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class PlanStep:
    """What to do; the command is to be copied, the page runs nothing."""

    text: str
    command: str  # empty where only a person can do it


@dataclass(frozen=True, slots=True)
class Explained:
    """The newest trouble of a range, explained; or that there is none, or that nothing could be checked."""

    verdict: str
    level: Level
    symptom: RecordedEvent | None
    chain: list[ChainLink]  # root first
    missing: list[str]
    culprit: Suspect | None
    ruled_out: list[RuledOut]
    standing: list[str]
    not_checked: list[NotChecked]
    plan: list[PlanStep]
    moment_begin_us: int | None  # the seconds to look at
    moment_end_us: int | None
    core: int | None  # where it was felt
    damaged: list[Damaged]


def chain_link(link: Link, found: Explanation) -> ChainLink:
    """A link, and the seconds in which it shows: those before the symptom, or the minutes of a leak."""
    begin_ns = found.end_ns - LEAK_NS if link.id in LEAKS else found.begin_ns
    return ChainLink(
        cause=link.cause,
        effect=link.effect,
        strength=link.strength.value,
        evidence=[_row(one, found) for one in link.evidence],
        begin_us=begin_ns // US_NS,
        end_us=found.end_ns // US_NS,
    )


def ruled_out(rival: Rival, found: Explanation) -> RuledOut:
    """Another explanation, and what speaks against it."""
    return RuledOut(f"{rival.explanation}: {rival.why}", [_row(one, found) for one in rival.evidence])


def plan_steps(diagnosis: Diagnosis) -> list[PlanStep]:
    """What breaks the chain, the root first; then what else is advised. Each command once."""
    advised = (PlanStep(advice.text, advice.command) for advice in diagnosis.advice)
    steps = [*map(_treatment, diagnosis.treatments), *advised]
    seen: set[str] = set()
    plan = []
    for step in steps:
        if not step.command or step.command not in seen:
            plan.append(step)
            seen.add(step.command)
    return plan


def _treatment(asked: Treatment) -> PlanStep:
    about = f" ({asked.subject})" if asked.subject else ""
    what = f"{REMEDIES.get(asked.remedy, asked.remedy)}{about}"
    return PlanStep(what, fix_command(asked.remedy, asked.subject))


def _row(evidence: Evidence, found: Explanation) -> EvidenceRow:
    return EvidenceRow(
        name=evidence.name,
        value=evidence.value,
        unit=evidence.unit,
        source=evidence.source,
        text=value_text(evidence),
        moment_us=_moment_us(evidence, found),
    )


def _moment_us(evidence: Evidence, found: Explanation) -> int:
    """The time that it tells, that of the line that it is, or the beginning of the seconds it is about."""
    if evidence.unit == "UTC":
        try:
            return int(datetime.fromisoformat(str(evidence.value)).timestamp() * 1e6)
        except ValueError:
            pass
    if evidence.unit == "line":
        return found.symptom.utc_ns // US_NS
    return found.begin_ns // US_NS
