"""Which hosts fail and which are healthy, and which facts each counts with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.tables.fleet_tables import FleetTables

# A time and what was then as one text, so that the smallest is the first and the largest the last.
THEN = "lpad(CAST(time_us AS VARCHAR), 20, '0') || coalesce(facts, '')"
TIME_DIGITS = 20
EXPOSURE = Gathering("segments", ("host", "facts"), (("recorded_us", "sum", "sum(recorded_us)"),))
LAST_FACTS = Gathering("facts", ("host",), (("last", "max", f"max({THEN})"),), time="time_us")


@dataclass(frozen=True, slots=True)
class FleetHosts:
    """What is known of each host in a range of time."""

    first_facts: dict[str, str]  # of the hosts with an event: at the first; empty: not known
    longest_facts: dict[str, str]  # of all that were recorded
    last_facts: dict[str, str]  # that a host has told, where a segment or an event does not say which it had
    enough: frozenset[str]  # recorded for at least half of the time

    @property
    def failing(self) -> frozenset[str]:
        """Those with an event."""
        return frozenset(self.first_facts)

    @property
    def brief(self) -> int:
        """How many were recorded too little to be called healthy."""
        return len(self.longest_facts.keys() - self.enough - self.failing)

    def facts_of(self, failing: frozenset[str] | None, *, is_all: bool) -> dict[str, str]:
        """The facts of every host that is compared, by name; `is_all`: not only those recorded for long."""
        sick = self.failing if failing is None else failing
        compared = self.longest_facts.keys() if is_all else self.enough | sick
        return {
            host: (not is_all and self.first_facts.get(host))
            or self.longest_facts.get(host)
            or self.last_facts.get(host, "")
            for host in sorted(compared)
        }


def gather_hosts(
    tables: FleetTables, engine: Engine, kinds: Sequence[str], begin_us: int, end_us: int
) -> FleetHosts:
    """All hosts with an event or a segment in a range."""
    of_kinds = f"kind IN ({', '.join(repr(kind) for kind in kinds)})"
    events = Gathering("events", ("host",), (("first", "min", f"min({THEN})"),), "time_us", of_kinds)
    first = {
        row["host"]: row["first"][TIME_DIGITS:]
        for row in engine.gather(tables, events, begin_us, end_us).to_pylist()
    }
    recorded: dict[str, dict[str, int]] = {}
    for row in engine.gather(tables, EXPOSURE, begin_us, end_us).to_pylist():
        recorded.setdefault(row["host"], {})[row["facts"] or ""] = row["recorded_us"] or 0
    longest = {host: _longest(spells) for host, spells in recorded.items()}
    last: dict[str, str] = {}
    if not all((*longest.values(), *first.values())):
        told = engine.gather(tables, LAST_FACTS, 0, end_us).to_pylist()
        last = {row["host"]: row["last"][TIME_DIGITS:] for row in told}
    enough = {host for host, spells in recorded.items() if 2 * sum(spells.values()) >= end_us - begin_us}
    return FleetHosts(first, longest, last, frozenset(enough))


def _longest(spells: dict[str, int]) -> str:
    known = {facts: recorded_us for facts, recorded_us in spells.items() if facts}
    return max(known, key=lambda facts: (known[facts], facts), default="")
