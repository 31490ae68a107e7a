"""Which remedies are for what was found, in which order, why, and what has to get better."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from necroscope.errors import UsageError
from necroscope.model.advice import fix_command
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.examination import NotChecked
from necroscope.model.finding import Finding, Severity
from necroscope.model.plan import Goal, Treatment
from necroscope.model.remedy_ids import (
    DISABLE_UNIT,
    MOVE_INTERRUPTS,
    MOVE_TO_CGROUP_V2,
    OF_A_UNIT,
    OF_ZOMBIES,
    PURGE_ZOMBIES,
    REBOOT,
    UPGRADE_KERNEL,
)
from necroscope.remedies.plan.goals import (
    goals_of_diagnosis,
    goals_of_findings,
    own_goals,
    worth_judging,
)

# The root first: zombies that are freed while the leak goes on come back. Advice comes last.
ORDER = (*OF_A_UNIT, PURGE_ZOMBIES, MOVE_INTERRUPTS, REBOOT, UPGRADE_KERNEL, MOVE_TO_CGROUP_V2)
NOTHING_FOUND = "nothing was found that a remedy is for"
ZOMBIES, LEAK = "zombie-memory-cgroups", "memory-cgroup-leak"


@dataclass(frozen=True, slots=True)
class Choice:
    """What to treat, in order. Without treatments, the reasons say why there is nothing to do."""

    treatments: tuple[Treatment, ...]
    reasons: tuple[str, ...]
    goals: tuple[Goal, ...]
    not_checked: tuple[NotChecked, ...] = ()  # it may be there, and nobody could see it


def choose_for_all(findings: Sequence[Finding], diagnosis: Diagnosis | None) -> Choice:
    """What the diagnosis asks for, else the worst finding that something can be done about.

    A stop-gap only where nothing can be cured, and no diagnosis has seen the cause elsewhere.
    """
    if diagnosis and diagnosis.treatments:
        return choose_for_diagnosis(findings, diagnosis)
    alarming = _alarming(findings)
    cures = [one for one in alarming if one.remedy and one.remedy != MOVE_INTERRUPTS]
    stop_gaps = [] if diagnosis else [one for one in alarming if one.remedy == MOVE_INTERRUPTS]
    if worst := next(iter([*cures, *stop_gaps]), None):
        return choose_for_finding(findings, diagnosis, worst.id, worst.subject)
    return Choice((), (*_reasons(alarming, diagnosis), NOTHING_FOUND), ())


def without_absent_cores(choice: Choice, online: Sequence[int]) -> Choice:
    """Without stop-gaps for cores that are not online: a kernel line may name one that has gone."""
    absent = [
        one.subject
        for one in choice.treatments
        if one.remedy == MOVE_INTERRUPTS and one.subject not in map(str, online)
    ]
    if not absent:
        return choice
    kept = tuple(
        one for one in choice.treatments if one.remedy != MOVE_INTERRUPTS or one.subject not in absent
    )
    reasons = tuple(f"core {core} is not online: it serves no interrupt" for core in absent)
    return replace(choice, treatments=kept, reasons=(*choice.reasons, *reasons))


def choose_for_diagnosis(findings: Sequence[Finding], diagnosis: Diagnosis) -> Choice:
    """The root first, then what it left behind, then advice. A stop-gap only where the root has no remedy."""
    if not diagnosis.treatments:
        return Choice((), (diagnosis.verdict, "no remedy is known for this"), ())
    wanted = list(diagnosis.treatments)
    if any(one.remedy == PURGE_ZOMBIES for one in wanted):
        wanted += _of_leaks(findings)
        wanted = [one for one in wanted if one.remedy != MOVE_INTERRUPTS]
    treatments = _in_order(findings, wanted)
    about = _about(findings, treatments)
    goals = dict.fromkeys((*goals_of_diagnosis(diagnosis), *goals_of_findings(about)))
    return Choice(treatments, _reasons(about, diagnosis), worth_judging(goals))


def choose_for_finding(
    findings: Sequence[Finding], diagnosis: Diagnosis | None, id: str, subject: str = ""
) -> Choice:
    """What ends one kind of finding. Raises UsageError where it is there for several subjects."""
    found = [one for one in findings if one.id == id and subject in ("", one.subject)]
    if not found:
        whose = f" about {subject}" if subject else ""
        return Choice((), (f"{id} was not found{whose}", *_also_found(findings)), ())
    _refuse_several(id, found)
    wanted = [*map(_asked, found)]
    if id in (ZOMBIES, LEAK):
        wanted += _of_leaks(findings if id == ZOMBIES else found)
    elif diagnosis and not id.startswith("unit-"):
        wanted += diagnosis.treatments
    treatments = _in_order(findings, wanted)
    if not treatments:
        return Choice((), (*_reasons(found, None), "no remedy is known for this"), ())
    about = list(dict.fromkeys((*found, *_about(findings, treatments))))
    reasons = _reasons(about, diagnosis if _tells_of(diagnosis, id, treatments) else None)
    return Choice(treatments, reasons, worth_judging(goals_of_findings(about)))


def choose_for_unit(findings: Sequence[Finding], diagnosis: Diagnosis | None, unit: str) -> Choice:
    """What ends the trouble that a unit makes, the zombies that it leaked included."""
    if diagnosis and any(one.subject == unit for one in diagnosis.treatments):
        return choose_for_diagnosis(findings, diagnosis)
    found = [one for one in findings if one.subject == unit]
    wanted = [*map(_asked, found)]
    if any(one.id == LEAK for one in found):
        wanted += _of_leaks(found)
        found += [one for one in findings if one.id == ZOMBIES]
    treatments = _in_order(findings, wanted)
    if not any(one.subject == unit for one in treatments):
        reasons = _reasons(found, None) or (f"nothing was found about {unit}",)
        treatments = (Treatment(DISABLE_UNIT, unit), *treatments)
        return Choice(treatments, reasons, goals_of_findings(found) or own_goals(DISABLE_UNIT, unit))
    return Choice(treatments, _reasons(found, None), worth_judging(goals_of_findings(found)))


def choose_for_remedy(findings: Sequence[Finding] | None, remedy: str, subject: str) -> Choice:
    """A remedy that somebody asked for by name. `findings` are None where nobody looked.

    What has to get better is what it is for, and all that was found: a remedy for the wrong subject is then
    seen not to help.
    """
    treatments = (Treatment(remedy, subject),)
    if findings is None:
        return Choice(treatments, (f"{remedy} was asked for",), own_goals(remedy, subject))
    about = _about(findings, treatments)
    of_machine = [one for one in _alarming(findings) if not one.id.startswith("unit-")]
    goals = dict.fromkeys((*own_goals(remedy, subject), *goals_of_findings([*about, *of_machine])))
    if about:
        return Choice(treatments, _reasons(about, None), worth_judging(goals))
    whose = f" of {subject}" if subject else ""
    said = f"{remedy}{whose} was asked for, and nothing that was found asks for it"
    return Choice(treatments, (said, *_also_found(findings)), worth_judging(goals))


def _asked(finding: Finding) -> Treatment:
    """What a finding asks for by itself."""
    return Treatment(finding.remedy, finding.subject)


def _settled(findings: Iterable[Finding], asked: Treatment) -> Treatment:
    """Of all that is asked for about a unit, what ends most: one that nobody needs is disabled.

    A leak by itself may ask for nothing, and the crash loop of the same unit does.
    """
    if asked.remedy and asked.remedy not in OF_A_UNIT:
        return asked
    known = {one.remedy for one in findings if one.subject == asked.subject} | {asked.remedy}
    return Treatment(next((remedy for remedy in OF_A_UNIT if remedy in known), ""), asked.subject)


def _of_leaks(findings: Iterable[Finding]) -> Iterator[Treatment]:
    """Stop who leaks, then free what is left; what would end it for good is advice."""
    yield from (_asked(one) for one in findings if one.id == LEAK)
    yield from (Treatment(remedy, "") for remedy in OF_ZOMBIES)


def _in_order(findings: Sequence[Finding], wanted: Iterable[Treatment]) -> tuple[Treatment, ...]:
    settled = dict.fromkeys(_settled(findings, one) for one in wanted)
    return tuple(sorted((one for one in settled if one.remedy), key=lambda one: ORDER.index(one.remedy)))


def _about(findings: Iterable[Finding], treatments: Sequence[Treatment]) -> list[Finding]:
    """The findings that treatments are about."""
    subjects = {one.subject for one in treatments if one.subject}
    zombies = (ZOMBIES, LEAK) if any(one.remedy in OF_ZOMBIES for one in treatments) else ()
    return [one for one in findings if one.subject in subjects or one.id in zombies]


def _tells_of(diagnosis: Diagnosis | None, id: str, treatments: Iterable[Treatment]) -> bool:
    """Whether a diagnosis explains a finding of this kind, or asks for one of the treatments."""
    if diagnosis is None:
        return False
    return diagnosis.symptom.startswith(f"{id}-") or bool({*diagnosis.treatments} & {*treatments})


def _refuse_several(id: str, found: Sequence[Finding]) -> None:
    subjects = sorted({one.subject for one in found})
    if len(subjects) > 1:
        commands = "; ".join(fix_command(id, subject) for subject in subjects if subject)
        raise UsageError(f"{id} was found {len(subjects)} times: choose one", hint=commands)


def _alarming(findings: Iterable[Finding]) -> list[Finding]:
    return [one for one in findings if one.severity is not Severity.INFO]


def _reasons(findings: Iterable[Finding], diagnosis: Diagnosis | None) -> tuple[str, ...]:
    said = [diagnosis.verdict] if diagnosis else []
    return tuple(dict.fromkeys([*said, *(one.summary for one in findings)]))


def _also_found(findings: Iterable[Finding]) -> Iterator[str]:
    """What else was found, so that nobody has to look again."""
    return (f"found: {finding.summary}" for finding in _alarming(findings))
