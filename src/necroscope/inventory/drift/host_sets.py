"""Which hosts are compared with which, and sets of them in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import comb

from necroscope.inventory.drift.fact_table import FactTable, Hosts

SICK_NAMES = ("failing", "failed", "bad", "broken", "sick", "unhealthy", "affected")
LEAST_P = 0.01  # what could not be less likely by chance is not worth a test
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Groups:
    """The hosts by group, and the group that is to be explained; None: single hosts as they are."""

    sets: Mapping[str, Hosts]
    symptom_name: str | None
    symptom: Hosts = field(init=False)
    rest: Hosts = field(init=False)  # all others, of whatever group

    def __post_init__(self) -> None:
        symptom = self.sets[self.symptom_name] if self.symptom_name is not None else 0
        rest = 0
        for hosts in self.sets.values():
            rest |= hosts & ~symptom
        object.__setattr__(self, "symptom", symptom)
        object.__setattr__(self, "rest", rest)

    @property
    def can_count(self) -> bool:
        """Whether there are hosts enough for any difference to be more than chance."""
        symptom, rest = self.symptom.bit_count(), self.rest.bit_count()
        return bool(symptom and rest) and 2 / comb(symptom + rest, symptom) <= LEAST_P


def sick_among(names: Iterable[str]) -> list[str]:
    """The groups whose names say that they are to be explained."""
    return [name for name in names if name.lower() in SICK_NAMES]


@dataclass(frozen=True, slots=True)
class HostSets:
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
