"""What a node tells its cluster, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from necroscope.cli.screen import Screen
from necroscope.errors import NecroscopeError

if TYPE_CHECKING:
    from necroscope.kubernetes.condition import Condition
    from necroscope.kubernetes.node_status import Standing
    from necroscope.kubernetes.report import Reported

STYLES = {"True": "critical", "False": "good", "Unknown": "warning"}


def conditions_text(
    screen: Screen,
    node: str,
    wanted: Sequence[Condition],
    standing: Mapping[str, Standing],
    error: NecroscopeError | None,
) -> str:
    """Condition by condition: what is told, and what the API server has."""
    lines = [screen.wrap(f"node {node}")]
    if error:
        lines += [screen.wrap(f"the API server: {error.what}"), screen.wrap(error.hint, 2)]
    if not wanted:
        lines.append(screen.wrap("the recorder has not said yet how this node is: record --kubernetes"))
    told = {one.type: one for one in wanted}
    for type in dict.fromkeys([*told, *standing]):
        lines += ["", *_condition(screen, type, told.get(type), standing.get(type), is_known=error is None)]
    return "\n".join(lines)


def _condition(
    screen: Screen, type: str, told: Condition | None, there: Standing | None, *, is_known: bool
) -> list[str]:
    status = told.status if told else there.status if there else ""
    lines = [screen.paint(screen.line(type), STYLES.get(status, "bold"))]
    if told:
        lines.append(screen.wrap(f"told    {told.status}, {told.reason}: {told.message}", 2, 10))
    if there:
        told_at = f"since {there.since}, last told {there.heartbeat}"
        lines.append(screen.wrap(f"there   {there.status}, {there.reason}, {told_at}", 2, 10))
    elif is_known:
        lines.append(screen.wrap("there   the API server does not have it", 2, 10))
    return lines


def reported_text(screen: Screen, reported: Reported) -> str:
    """What became of a report."""
    told = f"{_number(reported.conditions, 'condition')} and {_number(reported.events, 'event')} told"
    lines = [told]
    if reported.waiting:
        lines.append(f"{_number(reported.waiting, 'event')} kept for later")
    if reported.dropped:
        lines.append(f"{_number(reported.dropped, 'event')} given up")
    return "\n".join(screen.wrap(line) for line in [*lines, *reported.problems])


def _number(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
