"""Whose the ends of connections are: from sockets and their holders to units."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from necroscope.model.inventory import Served
from necroscope.sources.sockets.namespace_ends import NamespaceEnds
from necroscope.sources.sockets.socket_ends import Client, Listener, Stray
from necroscope.sources.sockets.socket_holders import Holders

# systemd connects the output of every service to it: that is no doing of the service.
OUTPUT = "unix /run/systemd/journal/stdout"


@dataclass(frozen=True, slots=True)
class UnitEnds:
    """The ends of one network namespace, and whose they are."""

    ends: NamespaceEnds
    holders: Holders
    activated: Mapping[str, frozenset[str]]  # address -> its socket unit and the services that it starts
    strays: Mapping[str, Collection[Stray]]  # address -> ends of connections to it in any namespace

    def sought(self, wanted: Collection[str]) -> Iterator[int]:
        """The sockets whose holders are to be named."""
        for listener in self.ends.listeners:
            if not self._servers(listener).isdisjoint(wanted):
                yield from (client.inode for client in self._clients(listener) if client.inode)
        for call in self.ends.calls:
            if call.address != OUTPUT and not self.holders.units([call.inode]).isdisjoint(wanted):
                yield from call.listeners

    def serves(self) -> Iterator[tuple[str, Served, bool]]:
        """Units, what each serves and to whom, and whether all clients can be seen."""
        for listener in self.ends.listeners:
            for unit in self._servers(listener):
                yield unit, Served(listener.address, self._names(listener, unit)), listener.keeps_connections

    def calls(self) -> Iterator[tuple[str, str]]:
        """Units, and what each has connected to."""
        for call in self.ends.calls:
            if call.address == OUTPUT:
                continue
            there = self.holders.units(call.listeners) | self.activated.get(call.address, frozenset())
            names = ", ".join(sorted(self.holders.names(call.listeners)))
            for unit in self.holders.units([call.inode]) - there:
                yield unit, f"{call.address} ({names})" if names else call.address

    def _servers(self, listener: Listener) -> set[str]:
        return self.holders.units(listener.inodes) | self.activated.get(listener.address, frozenset())

    def _clients(self, listener: Listener) -> Iterator[Client]:
        yield from listener.clients
        for stray in self.strays.get(listener.address, ()):
            # Another namespace may have a listener of that name, too.
            if not self.holders.units([stray.inode]).isdisjoint(self._servers(listener)):
                yield stray.client

    def _names(self, listener: Listener, unit: str) -> tuple[str, ...]:
        """Who is connected to a listener of a unit, and is not the unit itself."""
        activated = self.activated.get(listener.address, frozenset())
        own = activated | {unit} if unit in activated else {unit}
        names: set[str] = set()
        for client in self._clients(listener):
            if self.holders.units([client.inode]).isdisjoint(own):
                names |= self.holders.names([client.inode]) or {client.address}
        return tuple(sorted(names))


def by_address(strays: Iterable[Stray]) -> dict[str, list[Stray]]:
    """Strays by the address that they were accepted at."""
    found: defaultdict[str, list[Stray]] = defaultdict(list)
    for stray in strays:
        found[stray.address].append(stray)
    return found
