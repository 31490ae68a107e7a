"""Sets of hosts in words."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.inventory.drift.fact_table import FactTable, Hosts
from necroscope.inventory.drift.grouping import Groups

MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Places:
    """How to say which hosts are meant, so that it is clear in either direction."""

    table: FactTable
    groups: Groups

    def where(self, hosts: Hosts, known: Hosts) -> str:
        """On these hosts, among those that can tell."""
        if self.groups.symptom_name is not None:
            whole = [
                name for name, members in self.groups.sets.items() if members & known and members & hosts
            ]
            together = 0
            for name in whole:
                together |= self.groups.sets[name]
            if hosts == together & known and len(whole) < len(self.groups.sets):
                return f"in the {_joined(whole)} {'group' if len(whole) == 1 else 'groups'}"
            if hosts.bit_count() > MOST_NAMED:
                return self.counted(hosts, known)
        return f"on {self._named(hosts, known)}"

    def counted(self, hosts: Hosts, known: Hosts) -> str:
        """On so many of so many hosts of each group."""
        parts: list[str] = []
        for name, members in self.in_order():
            all_of_it = (known & members).bit_count()
            head = f"on {(hosts & members).bit_count():,} of {all_of_it:,}"
            if parts:
                parts.append(f"{head} of the {name} one")
            else:
                parts.append(f"{head} {'host' if all_of_it == 1 else 'hosts'} of the {name} group")
        return _joined(parts)

    def in_order(self) -> list[tuple[str, Hosts]]:
        """The groups, the symptom's first."""
        return sorted(self.groups.sets.items(), key=lambda row: row[0] != self.groups.symptom_name)

    def _named(self, hosts: Hosts, known: Hosts) -> str:
        count = hosts.bit_count()
        if count <= MOST_NAMED:
            return _joined(self.table.names(hosts))
        return f"{count:,} of {known.bit_count():,} hosts"


def _joined(parts: list[str] | tuple[str, ...]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
