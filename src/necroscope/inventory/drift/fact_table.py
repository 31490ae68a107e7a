"""The facts of many hosts side by side, of which only what differs takes room.

A set of hosts is a whole number with a bit for each host: two sets are joined, cut and counted by one
operation, whatever their size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from necroscope.inventory.sections.identity import IDENTITY
from necroscope.model.drift import NotCompared
from necroscope.model.snapshot import Snapshot

Hosts = int  # a bit for each

NO_SECTION = "the snapshot does not have this section"


@dataclass(frozen=True, slots=True)
class VaryingFact:
    """A fact that is not the same on all hosts that know it."""

    section: str
    name: str
    values: Mapping[str | None, Hosts]  # None: these hosts do not have the fact
    known: Hosts  # all who can tell

    @property
    def id(self) -> str:
        """Its name across all sections."""
        return f"{self.section}/{self.name}"


@dataclass(slots=True)
class _Section:
    """One section of all hosts: that of the first, and how the others differ from it."""

    first: dict[str, str]
    others: dict[str, dict[str, list[int]]] = field(default_factory=lambda: defaultdict(dict))
    lacking: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    read: list[int] = field(default_factory=list)
    partly_read: list[int] = field(default_factory=list)  # what such a host does not have may be there

    def add(self, hosts: Sequence[int], facts: Mapping[str, str], *, is_partial: bool) -> None:
        (self.partly_read if is_partial else self.read).extend(hosts)
        shared = 0
        for name, value in facts.items():
            expected = self.first.get(name)
            shared += expected is not None
            if value != expected:
                self.others[name].setdefault(value, []).extend(hosts)
        if shared < len(self.first):
            for name in self.first.keys() - facts.keys():
                self.lacking[name].extend(hosts)

    def may_be_empty(self) -> bool:
        """Whether there may be nothing of it: no fact is on every host, or there is only one at all."""
        if len(self.first.keys() | self.others.keys()) == 1:
            return True
        partly = set(self.partly_read)
        return all(set(self.lacking.get(name, ())) - partly for name in self.first)


class FactTable:
    """The facts of all hosts that were added, one after the other."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self._sections: dict[str, _Section] = {}
        self._not_read: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        self._absent: dict[str, set[int]] = defaultdict(set)  # the same hosts, where there is nothing at all

    def add(self, snapshot: Snapshot, name: str) -> None:
        """Add a host under a name that is its own."""
        host = len(self.hosts)
        self.hosts.append(name)
        for section, facts in snapshot.facts.items():
            if facts or section not in snapshot.not_read:
                self.add_section(section, facts, (host,), is_partial=section in snapshot.not_read)
        for section, reason in snapshot.not_read.items():
            self.add_not_read(section, reason, host, is_absent=not snapshot.facts.get(section))

    def add_hosts(self, names: Iterable[str]) -> None:
        """Add hosts whose sections come one by one."""
        self.hosts += names

    def add_section(
        self, section: str, facts: Mapping[str, str], hosts: Sequence[int], *, is_partial: bool = False
    ) -> None:
        """Add a section that is the same on some hosts, by their places."""
        if section == IDENTITY:
            return
        known = self._sections.get(section)
        if known is None:
            known = self._sections[section] = _Section(dict(facts))
        known.add(hosts, facts, is_partial=is_partial)

    def add_not_read(self, section: str, reason: str, host: int, *, is_absent: bool) -> None:
        """Say that of a section not all is known of a host, or nothing at all."""
        if section == IDENTITY:
            return
        self._not_read[section][reason].append(host)
        if is_absent:
            self._absent[section].add(host)

    def count_facts(self) -> int:
        """How many different facts there are."""
        return sum(
            len(section.first) + len(section.others.keys() - section.first.keys())
            for section in self._sections.values()
        )

    def names(self, hosts: Hosts, most: int | None = None) -> tuple[str, ...]:
        """The names of a set of hosts, or of the first of them."""
        return tuple(self.hosts[place] for place in islice(_places(hosts), most))

    def values(self, section: str, name: str) -> tuple[str, ...]:
        """Every value that a fact has on some host, also where it is the same on all."""
        known = self._sections.get(section)
        if known is None:
            return ()
        first = [known.first[name]] if name in known.first else []
        return (*first, *known.others.get(name, ()))

    def texts(self, section: str, prefix: str) -> Iterator[str]:
        """Every value of every fact whose name begins so."""
        known = self._sections.get(section)
        for name in {*known.first, *known.others} if known else ():
            if name.startswith(prefix):
                yield from self.values(section, name)

    def varying(self) -> Iterator[VaryingFact]:
        """All facts that differ, in order of their sections and names."""
        for section_name in sorted(self._sections):
            section = self._sections[section_name]
            empty = self._empty(section_name)
            read, partly = self._set(section.read) | empty, self._set(section.partly_read)
            names = {*section.others, *section.lacking, *(section.first if empty else ())}
            for name in sorted(names):
                values: dict[str | None, Hosts] = {
                    value: self._set(hosts) for value, hosts in section.others.get(name, {}).items()
                }
                others = _union(values.values())
                if name in section.first:
                    lacking = self._set(section.lacking.get(name, ())) | empty
                    first = (read | partly) & ~others & ~lacking
                    values = {section.first[name]: first, **values}
                else:
                    lacking = read & ~others
                if absent := lacking & read:
                    values[None] = absent
                if len(values) > 1:
                    yield VaryingFact(section_name, name, values, _union(values.values()))

    def not_compared(self) -> Iterator[NotCompared]:
        """Where a section is not known, and why."""
        for section, reasons in sorted(self._not_read.items()):
            for reason, hosts in sorted(reasons.items()):
                yield NotCompared(section, tuple(self.hosts[host] for host in hosts), reason)
        for section in sorted(self._sections):
            if (silent := self._silent(section)) and not self._empty(section):
                yield NotCompared(section, self.names(silent), NO_SECTION)

    def _silent(self, section: str) -> Hosts:
        """The hosts that say nothing of a section, not even why."""
        known = self._sections[section]
        said = self._set([*known.read, *known.partly_read, *self._absent.get(section, ())])
        return ((1 << len(self.hosts)) - 1) & ~said

    def _empty(self, section: str) -> Hosts:
        """The hosts that say nothing of a section because there is nothing of it."""
        return self._silent(section) if self._sections[section].may_be_empty() else 0

    def _set(self, places: Iterable[int]) -> Hosts:
        bits = bytearray(len(self.hosts) // 8 + 1)
        for place in places:
            bits[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(bits, "little")


def _union(sets: Iterable[Hosts]) -> Hosts:
    together = 0
    for one in sets:
        together |= one
    return together


def _places(hosts: Hosts) -> Iterator[int]:
    while hosts:
        lowest = hosts & -hosts
        yield lowest.bit_length() - 1
        hosts ^= lowest
