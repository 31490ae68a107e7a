"""Which differences explain failing and healthy hosts."""

from __future__ import annotations

from necroscope.fleet.questions.drift import ask_drift
from necroscope.model.drift import Difference, Drift
from necroscope.server.fleet_span import FleetSpan
from necroscope.server.fleet_store import FleetStore
from necroscope.server.questions.fleet.numbers import finite, told_interval
from necroscope.server.questions.fleet_answers import DriftGroup, FleetDifference, FleetDrift, ValueByGroup

MOST_DIFFERENCES = 100
MOST_VALUES = 6


def ask_fleet_drift(fleet: FleetStore, span: FleetSpan) -> FleetDrift:
    """What `necroscope fleet drift` says."""
    found = fleet.kept(
        ("drift", span),
        lambda tables: ask_drift(tables, fleet.engine, span.kinds, span.begin_us, span.end_us),
    )
    return told_drift(found)


def told_drift(drift: Drift) -> FleetDrift:
    """The answer as the page wants it."""
    groups = sorted(drift.groups, key=lambda name: name != drift.symptom)
    rows = drift.differences[:MOST_DIFFERENCES]
    return FleetDrift(
        groups=[DriftGroup(name, len(drift.groups[name])) for name in groups],
        symptom=drift.symptom or "",
        facts=drift.facts,
        differences=[_row(one, groups) for one in rows],
        left_out=len(drift.differences) - len(rows),
        note=drift.note,
    )


def _row(one: Difference, groups: list[str]) -> FleetDifference:
    association = one.association
    return FleetDifference(
        fact=one.lead.fact,
        summary=one.summary,
        relevance=one.relevance.value,
        matters=one.matters,
        why=one.why,
        q=finite(association.q) if association else None,
        odds_ratio=finite(association.odds_ratio) if association else None,
        interval=told_interval(association.interval) if association else None,
        p_among_alike=finite(one.p_among_alike),
        values=_values(one, groups),
        cannot_tell_apart_from=list(one.cannot_tell_apart_from),
        explained_by=list(one.explained_by),
    )


def _values(one: Difference, groups: list[str]) -> list[ValueByGroup]:
    counts = [one.lead.values.get(group, {}) for group in groups]
    values = {value for count in counts for value in count}
    rows = [ValueByGroup(value, [count.get(value, 0) for count in counts]) for value in values]
    return sorted(rows, key=lambda row: (-sum(row.hosts), row.value or ""))[:MOST_VALUES]
