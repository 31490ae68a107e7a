"""Which differences explain failing and healthy hosts: the facts of a fleet, compared as snapshots are.

Failing are the hosts with an event in the range, healthy those without one that were recorded for at least
half of it. A failing host counts with the facts that it had at its first event, a healthy one with those that
it had for the longest time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.questions.drift_facts import FactOfGroup, FleetFacts, read_fleet_facts
from necroscope.fleet.questions.drift_hosts import FleetHosts, gather_hosts
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.inventory.drift.compare import compare
from necroscope.inventory.drift.host_sets import Groups
from necroscope.model.drift import Drift

FAILING, HEALTHY = "failing", "healthy"


def ask_drift(tables: FleetTables, engine: Engine, kinds: Sequence[str], begin_us: int, end_us: int) -> Drift:
    """All differences between hosts with an event of these kinds and hosts without."""
    return conclude_drift(tables, gather_hosts(tables, engine, kinds, begin_us, end_us), kinds)


def conclude_drift(
    tables: FleetTables,
    hosts: FleetHosts,
    kinds: Sequence[str],
    failing: frozenset[str] | FactOfGroup | None = None,
) -> Drift:
    """All differences, the likeliest to matter first.

    `failing` names the hosts to be explained instead of those with an event, or the fact that they have; all
    others that were recorded are then the healthy ones.
    """
    is_by_events = failing is None
    facts_of = hosts.facts_of(failing if isinstance(failing, frozenset) else None, is_all=not is_by_events)
    facts = read_fleet_facts(tables, facts_of, failing if isinstance(failing, FactOfGroup) else None)
    named = facts.having if isinstance(failing, FactOfGroup) else failing
    groups = _groups(facts, hosts.failing if named is None else named)
    note = _note(hosts, facts, is_by_events=is_by_events)
    if why := _why_not(groups, kinds, is_by_events=is_by_events):
        return _nothing(groups, facts, "; ".join(filter(None, (why, note))))
    drift = compare(facts.table, Groups({name: facts.set_of(some) for name, some in groups.items()}, FAILING))
    return replace(drift, note="; ".join(filter(None, (drift.note, note))))


def _groups(facts: FleetFacts, failing: frozenset[str]) -> dict[str, list[str]]:
    known = facts.table.hosts
    return {
        FAILING: [host for host in known if host in failing],
        HEALTHY: [host for host in known if host not in failing],
    }


def _why_not(groups: Mapping[str, Sequence[str]], kinds: Sequence[str], *, is_by_events: bool) -> str:
    if not groups[FAILING]:
        what = f"had {' or '.join(kinds)} in this time" if is_by_events else "is one of the failing ones"
        return f"nothing to explain: no host whose facts are known {what}"
    return "" if groups[HEALTHY] else "nothing to compare with: there is no healthy host"


def _nothing(groups: Mapping[str, Sequence[str]], facts: FleetFacts, why: str) -> Drift:
    sets = {name: tuple(hosts) for name, hosts in groups.items()}
    return Drift(sets, FAILING, facts.table.count_facts(), (), (), why)


def _note(hosts: FleetHosts, facts: FleetFacts, *, is_by_events: bool) -> str:
    notes = []
    if is_by_events and hosts.brief:
        notes.append(
            f"{_count(hosts.brief)} without an event recorded too little of the time to be called healthy"
        )
    if facts.unknown:
        notes.append(f"the facts of {_count(facts.unknown)} are not known")
    return "; ".join(notes)


def _count(number: int) -> str:
    return f"{number:,} host{'' if number == 1 else 's'}"
