"""Put the parts of several remedies together into one plan; make a plan again and compare.

A plan is a statement and not a program: what is carried out is what we plan ourselves, here and now. A file
that was tampered with is refused like one that has grown old. What was found is not looked for again: the
goals may be any that the treatments can have (goals.py), and must be there that they have by themselves. The
reasons are sentences for people, and are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path

from necroscope.errors import HostChangedError, UsageError
from necroscope.model.plan import Assumption, Goal, Plan, Step, Treatment
from necroscope.remedies.plan.catalog import ALL_REMEDIES
from necroscope.remedies.plan.goals import whole_goals
from necroscope.sources.host import Host

HINT = "`necroscope fix` makes a new plan"
MOST_SAID = 5
NOTHING = "nothing"


def make_plan(
    host: Host, treatments: Sequence[Treatment], reasons: Sequence[str], goals: Sequence[Goal]
) -> Plan:
    """What would be done, in the order of the treatments. Nothing is changed."""
    parts = [ALL_REMEDIES[each.remedy].plan(host, each.subject) for each in treatments]
    treated = tuple(
        replace(each, subject=part.subject or each.subject)
        for each, part in zip(treatments, parts, strict=True)
    )
    assumptions = [Assumption("kernel", host.word("/proc/sys/kernel/osrelease"))] if host.is_live else []
    assumptions += [assumption for part in parts for assumption in part.assumptions]
    return Plan(
        host=host.name(),
        machine_id=host.word("/etc/machine-id"),
        root=str(host.root),
        is_image=not host.is_live,
        made_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        reasons=tuple(reasons),
        seen=tuple(line for part in parts for line in part.seen),
        treatments=treated,
        assumptions=tuple(dict.fromkeys(assumptions)),
        steps=tuple(step for part in parts for step in part.steps),
        by_hand=tuple(dict.fromkeys(advice for part in parts for advice in part.by_hand)),
        goals=whole_goals(goals, treated),
        warnings=tuple(dict.fromkeys(line for part in parts for line in part.warnings)),
        vital=tuple(dict.fromkeys(line for part in parts for line in part.vital)),
    )


def refuse_if_changed(plan: Plan, host: Host) -> Plan:
    """The plan as it is made now, with the reasons and goals of the old one. Raises HostChangedError."""
    try:
        now = make_plan(host, plan.treatments, plan.reasons, plan.goals)
    except UsageError as error:  # the subject is gone
        raise HostChangedError(f"it can no longer be planned: {error.what}", hint=HINT) from error
    differences = list(_differences(plan, now))
    if differences:
        more = len(differences) - MOST_SAID
        said = "; ".join(differences[:MOST_SAID]) + (f"; and {more} more" if more > 0 else "")
        raise HostChangedError(f"the host is not as the plan says: {said}", hint=HINT)
    return replace(now, made_at=plan.made_at)


def is_of_host(plan: Plan, host: Host) -> bool:
    """Whether a plan was made for this machine, which may be seen through another root today."""
    if plan.is_image != (not host.is_live):
        return False
    same_root = Path(plan.root).absolute() == host.root.absolute()
    machine_id = host.word("/etc/machine-id")
    # Images are often without one, or have it in common.
    is_known = bool(machine_id) and host.is_live
    return plan.machine_id == machine_id and (is_known or same_root)


def _differences(plan: Plan, now: Plan) -> Iterator[str]:
    kinds = {True: "an image", False: "a running machine"}
    for name, was, is_ in (
        ("host", plan.host, now.host),
        ("machine id", plan.machine_id, now.machine_id),
        ("root", plan.root, now.root),
        ("kind", kinds[plan.is_image], kinds[now.is_image]),
    ):
        if was != is_:
            yield _was_and_is(name, was, is_)
    yield from _other_assumptions(plan.assumptions, now.assumptions)
    yield from _other_steps(plan.steps, now.steps)
    if plan.goals != now.goals:
        yield _was_and_is("goals", *(", ".join(map(str, goals)) for goals in (plan.goals, now.goals)))


def _other_assumptions(before: Sequence[Assumption], now: Sequence[Assumption]) -> Iterator[str]:
    for name in dict.fromkeys(assumption.name for assumption in (*before, *now)):
        was, is_ = (", ".join(one.value for one in side if one.name == name) for side in (before, now))
        if was != is_:
            yield _was_and_is(name, was, is_)


def _was_and_is(name: str, was: str, is_: str) -> str:
    return f"{name}: was {was or NOTHING}, is {is_ or NOTHING}"


def _other_steps(before: Sequence[Step], now: Sequence[Step]) -> Iterator[str]:
    for number, (was, is_) in enumerate(zip_longest(before, now), start=1):
        if was is None:
            yield f"step {number} would be needed and is not in the plan: {is_.action} {is_.target}"
        elif is_ is None:
            yield f"step {number} of the plan would not be planned now"
        elif was != is_:
            other = [
                field.name for field in fields(Step) if getattr(was, field.name) != getattr(is_, field.name)
            ]
            yield f"step {number} of the plan is not the one that would be planned now ({', '.join(other)})"
