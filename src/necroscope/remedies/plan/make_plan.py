"""Put the parts of several remedies together into one plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from necroscope.model.plan import Assumption, Goal, Plan, Treatment
from necroscope.remedies.plan.catalog import ALL_REMEDIES
from necroscope.remedies.plan.goals import whole_goals
from necroscope.sources.host import Host


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
