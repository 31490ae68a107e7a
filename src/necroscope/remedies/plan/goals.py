"""What has to get better when something is treated, by which `verify` judges it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from necroscope.model.diagnosis import Diagnosis
from necroscope.model.finding import Finding
from necroscope.model.plan import Goal, Treatment
from necroscope.model.remedy_ids import (
    CLEAN_BEFORE_REMOVAL,
    DISABLE_UNIT,
    LIMIT_CRASH_LOOP,
    MOVE_INTERRUPTS,
    PURGE_ZOMBIES,
)
from necroscope.remedies.verify.quantities import OF_UNITS, QUANTITIES

# The quantities of `remedies/verify` that tell whether a finding is gone, the most telling first.
BY_FINDING: dict[str, tuple[str, ...]] = {
    "nic-reset": ("nic-resets",),
    "softirq-starved": ("softirq-delay",),
    "kernel-stall": ("saturated-core-seconds",),
    "core-saturated": ("saturated-core-seconds",),
    "memory-cgroup-leak": ("zombie-growth", "zombies"),
    "zombie-memory-cgroups": ("zombies",),
    "reclaim-pressure": ("reclaim",),
    "cpu-throttling": ("throttling",),
    "unit-crash-loop": ("unit-restarts",),
    "unit-orphaned-agent": ("unit-runs",),
    "unit-default-enabled": ("unit-runs",),
}
BY_SYMPTOM: dict[str, tuple[str, ...]] = {
    "nic-reset": ("nic-resets",),
    "cgroup-leak": ("zombie-growth", "zombies"),
}
A_FULL_CORE = ("saturated-core-seconds",)  # of every other symptom that a diagnosis explains
# What a link of a chain leads to is felt too: the links of causes.toml by id.
BY_LINK: dict[str, tuple[str, ...]] = {
    "core-starves-nic": ("softirq-delay", "saturated-core-seconds"),
    "kernel-work-fills-core": ("saturated-core-seconds",),
    "unit-leaks-cgroups": ("zombie-growth", "zombies"),
    "owner-leaks-cgroups": ("zombie-growth", "zombies"),
    "zombies-slow-the-kernel": ("zombies",),
    "shortage-makes-reclaim": ("reclaim",),
}
OWN = {
    DISABLE_UNIT: "unit-runs",
    LIMIT_CRASH_LOOP: "unit-restarts",
    CLEAN_BEFORE_REMOVAL: "zombie-growth",
    PURGE_ZOMBIES: "zombies",
    MOVE_INTERRUPTS: "softirq-delay",
}


def why_not_goal(goal: Goal, treatments: Iterable[Treatment]) -> str:
    """Why treatments cannot have a goal; empty if they can. What was found is not known here."""
    if goal.quantity not in QUANTITIES:
        return f"there is no quantity '{goal.quantity[:80]}'"
    subjects = {one.subject for one in treatments} if goal.quantity in OF_UNITS else {""}
    return "" if goal.subject in subjects else f"'{goal.subject[:80]}' is not what is treated"


def whole_goals(goals: Iterable[Goal], treatments: Iterable[Treatment]) -> tuple[Goal, ...]:
    """Goals, with what the treatments themselves are for, whatever was found."""
    own = (goal for one in treatments for goal in own_goals(one.remedy, one.subject))
    return worth_judging(dict.fromkeys((*goals, *own)))


def worth_judging(goals: Iterable[Goal]) -> tuple[Goal, ...]:
    """That a unit which was stopped no longer runs says nothing: a goal only where there is no other."""
    every = tuple(goals)
    return tuple(goal for goal in every if goal.quantity not in OF_UNITS) or every


def goals_of_findings(findings: Iterable[Finding]) -> tuple[Goal, ...]:
    """What tells that findings are gone: what users feel first, the unit's own restarts last."""
    order = {id: place for place, id in enumerate(BY_FINDING)}
    found = sorted(findings, key=lambda finding: order.get(finding.id, len(order)))
    goals = (
        Goal(quantity, finding.subject if quantity in OF_UNITS else "")
        for finding in found
        for quantity in BY_FINDING.get(finding.id, ())
    )
    return tuple(dict.fromkeys(goals))


def goals_of_diagnosis(diagnosis: Diagnosis) -> tuple[Goal, ...]:
    """What has to get better along the chain: the symptom first, the root last."""
    return tuple(dict.fromkeys(Goal(quantity, "") for quantity in _along(diagnosis)))


def own_goals(remedy: str, subject: str) -> tuple[Goal, ...]:
    """What a remedy is for, where no finding tells."""
    quantity = OWN.get(remedy)
    return (Goal(quantity, subject if quantity in OF_UNITS else ""),) if quantity else ()


def _along(diagnosis: Diagnosis) -> Iterator[str]:
    kinds = [kind for kind in BY_SYMPTOM if diagnosis.symptom.startswith(f"{kind}-")]
    yield from BY_SYMPTOM[kinds[0]] if kinds else A_FULL_CORE
    for link in reversed(diagnosis.chain):
        yield from BY_LINK.get(link.id, ())
