"""Which group a host is in, by the facts it had: the value of one label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from necroscope.errors import UsageError
from necroscope.fleet import host_facts
from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.host_facts import gather_facts
from necroscope.fleet.questions.where import UNKNOWN_VALUE
from necroscope.fleet.tables.fleet_tables import FleetTables


@dataclass(frozen=True, slots=True)
class Grouping:
    """The values of a label by the id of facts, as `where` tests them."""

    label: str
    values: Mapping[str, str]

    def group_of(self, facts: str | None) -> str:
        """The group of a host that had these facts."""
        return self.values.get(facts or "", UNKNOWN_VALUE)


def read_grouping(tables: FleetTables, engine: Engine, label: str) -> Grouping:
    """The values that a label has. UsageError: nobody has it."""
    found = gather_facts(tables, engine, (label,))
    column = found.column(label)
    if column is None:
        raise UsageError(
            f"no host has {label or 'a label without a name'}", hint="/api/fleet lists the labels"
        )
    known = zip(found.ids, column.codes.tolist(), strict=True)
    return Grouping(
        label, {facts: column.values[code] for facts, code in known if code != host_facts.UNKNOWN}
    )
