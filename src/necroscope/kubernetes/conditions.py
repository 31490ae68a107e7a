"""Which conditions follow from what was found, by rules that are data (rules/conditions.toml).

A condition is True while one of its findings stands in the last 10 minutes recorded, False once they have
been looked for and not found, and Unknown where nobody could look: never False by default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from necroscope.kubernetes.condition import Condition
from necroscope.kubernetes.names import DOMAIN
from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding, NodeState
from necroscope.model.recorder_status import Status
from necroscope.model.shell_command import shell_command
from necroscope.model.timestamp import iso_utc_seconds
from necroscope.model.visible_text import visible_text

LONGEST_MESSAGE = 500
GO_ON = "necroscope diagnose"  # where a rule names an event and none is known
# What the recorder knows of itself.
OWN = ("store-not-writable", "sealing-fails", "samples-not-taken")
NOT_CHECKED, NOT_EXAMINED = "NotChecked", "NotExamined"


@dataclass(frozen=True, slots=True)
class ConditionRule:
    """One condition: what sets it, and what is said."""

    name: str
    means: str
    findings: Mapping[str, str]  # finding -> reason, the first ones first
    must_look: tuple[str, ...]
    event: str
    go_on: str
    healthy_reason: str
    healthy_message: str

    @property
    def type(self) -> str:
        """As the cluster knows it."""
        return f"{DOMAIN}/{self.name}"


@cache
def condition_rules() -> tuple[ConditionRule, ...]:
    """All conditions, in the order of the file."""
    return tuple(_rule(name, row) for name, row in _tables()["conditions"].items())


def findings_without_condition() -> dict[str, str]:
    """The findings that make no condition, and why."""
    return dict(_tables()["not_conditions"])


def _tables() -> dict[str, Any]:
    return tomllib.loads(files("necroscope.kubernetes").joinpath("rules/conditions.toml").read_text())


def _rule(name: str, row: Mapping[str, Any]) -> ConditionRule:
    reason, message = row["healthy"]
    return ConditionRule(
        name=name,
        means=row["means"],
        findings=row["findings"],
        must_look=tuple(row["must_look"]),
        event=row.get("event", ""),
        go_on=row["go_on"],
        healthy_reason=reason,
        healthy_message=message,
    )


def own_troubles(status: Status) -> tuple[ActiveFinding, ...]:
    """What is wrong with the recorder now. Holes are not: they are over."""
    errors = (status.store_error, status.sealing_error, status.profiling_error)
    return tuple(
        ActiveFinding(id, Severity.WARNING, error) for id, error in zip(OWN, errors, strict=True) if error
    )


def conditions_of(
    state: NodeState, troubles: Sequence[ActiveFinding], last_events: Mapping[str, str]
) -> tuple[Condition, ...]:
    """All conditions of the node; `last_events` has the id of the last event of each kind."""
    return tuple(_condition(rule, state, troubles, last_events) for rule in condition_rules())


def conditions_unexamined(why: str, troubles: Sequence[ActiveFinding]) -> tuple[Condition, ...]:
    """All conditions when it is not known what is wrong; of itself, the recorder still knows."""
    nothing = NodeState(0, (), ())
    return tuple(
        _made(rule, "Unknown", NOT_EXAMINED, why)
        if rule.must_look
        else _condition(rule, nothing, troubles, {})
        for rule in condition_rules()
    )


def conditions_unknown(why: str) -> tuple[Condition, ...]:
    """All conditions when nobody looks."""
    return tuple(_made(rule, "Unknown", NOT_EXAMINED, why) for rule in condition_rules())


def _condition(
    rule: ConditionRule,
    state: NodeState,
    troubles: Sequence[ActiveFinding],
    last_events: Mapping[str, str],
) -> Condition:
    found = [one for one in (*state.findings, *troubles) if one.id in rule.findings]
    standing = [one for one in found if one.severity is not Severity.INFO]
    if standing:
        order = list(rule.findings)
        worst = min(standing, key=lambda one: (one.severity.rank, order.index(one.id)))
        return _made(rule, "True", rule.findings[worst.id], _words(rule, worst, standing, last_events))
    why = dict(state.not_checked)
    unseen = [id for id in rule.findings if id not in state.checked and id not in OWN]
    told = "; ".join(f"{id} could not look: {why.get(id, 'it was not asked')}" for id in unseen)
    if set(unseen) & set(rule.must_look):
        return _made(rule, "Unknown", NOT_CHECKED, told)
    until = f"in the 10 minutes until {iso_utc_seconds(state.examined_utc_ns)}" if rule.must_look else ""
    message = " ".join(filter(None, (rule.healthy_message, until)))
    return _made(rule, "False", rule.healthy_reason, f"{message}; {told}" if told else message)


def _made(rule: ConditionRule, status: Any, reason: str, message: str) -> Condition:
    return Condition(rule.type, status, reason, visible_text(message)[:LONGEST_MESSAGE])


def _words(
    rule: ConditionRule,
    worst: ActiveFinding,
    standing: Sequence[ActiveFinding],
    last_events: Mapping[str, str],
) -> str:
    more = f" (and {len(standing) - 1} more)" if len(standing) > 1 else ""
    event = last_events.get(rule.event, "")
    template = GO_ON if "{event}" in rule.go_on and not event else rule.go_on
    go_on = shell_command(word.format(event=event) for word in template.split())
    room = LONGEST_MESSAGE - len(more) - len(go_on) - 2
    return f"{visible_text(worst.summary)[:room]}{more}: {go_on}"
