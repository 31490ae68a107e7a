"""Which sockets a unit serves and who is connected to them, and whom it is connected to itself.

Reads    /proc/PID/{cgroup,fd,ns/net,net/tcp,net/tcp6,net/udp,net/udp6,net/unix}, the kernel's socket
         diagnosis for UNIX sockets of our own network namespace, and systemd's socket units
Needs    CAP_SYS_PTRACE for other users' processes
Costs    about 40 us per process, 6 us per open file of the units, 6 us per open file of the others until all
         clients are named, 6 us per UNIX socket and 13 us per connection: 0.65 s with 600 processes that
         have 50,000 sockets open (the sum of measured parts)

Without CAP_SYS_ADMIN it is seen in another network namespace than ours that a UNIX socket has clients, but
not which.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from necroscope.model.inventory import Served
from necroscope.model.reading import Reading
from necroscope.sources.ask_systemd import ask_systemd
from necroscope.sources.host import Host
from necroscope.sources.sockets.namespace_ends import NamespaceEnds, read_namespace_ends, read_strays
from necroscope.sources.sockets.socket_ends import Client, Listener, Stray
from necroscope.sources.sockets.socket_holders import Holders, read_network_namespace, read_process_units

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

SYSTEMD = 1  # its process
MOST_REASONS = 3  # that are told: a node has hundreds of namespaces
PROTOCOLS = {"Stream": "tcp", "Datagram": "udp", "SequentialPacket": "unix"}
# systemd connects the output of every service to it: that is no doing of the service.
OUTPUT = "unix /run/systemd/journal/stdout"


@dataclass(frozen=True, slots=True)
class UnitSockets:
    """By unit. One that is not in `serves` and `calls` could not be looked at."""

    serves: Mapping[str, tuple[Served, ...]]
    calls: Mapping[str, tuple[str, ...]]  # tcp 10.0.0.5:443, unix /run/docker.sock (docker.service)
    partial: str  # why some could not be looked at, or some clients not be named; empty where all could
    # Units that serve datagrams: anybody can send one without a connection that could be seen.
    may_have_unseen_clients: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SocketUnit:
    """One socket unit that listens: systemd itself does, for others."""

    name: str
    addresses: frozenset[str]  # tcp [::]:22, unix /run/docker.sock
    triggers: tuple[str, ...]  # the services that it starts


@dataclass(frozen=True, slots=True)
class UnitEnds:
    """The ends of one network namespace, and whose they are: from sockets and their holders to units."""

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


def read_unit_sockets(host: Host, units: Collection[str] | None = None) -> Reading[UnitSockets]:
    """The sockets of the named units, or of all running services and all socket units."""
    processes = read_process_units(host)
    if processes.value is None:
        return processes.without_value()
    unit_of = processes.value
    socket_units = read_socket_units(host)
    wanted = _all_units(unit_of, socket_units.value or ()) if units is None else frozenset(units)
    # Users come last: they can take the time that is there for all.
    pids = sorted(
        (pid for pid, unit in unit_of.items() if unit in wanted), key=lambda pid: _is_users(unit_of[pid])
    )
    holders = Holders(host, unit_of)
    refused = holders.look_at(pids)
    if refused and len(refused) == len(pids):
        return refused[pids[0]].without_value()
    seen = _read_namespaces(host, unit_of.keys(), pids)
    reasons = [*(reading.reason for reading in refused.values()), *seen.reasons]
    missed = seen.missed | refused.keys()
    unseen = {unit_of[pid] for pid in missed}
    if socket_units.value is None:
        reasons.append(f"socket units: {socket_units.reason}")
    if socket_units.value is None or SYSTEMD in missed:
        unseen |= {unit for unit in wanted if unit.endswith(".socket")}

    strays = _by_address(seen.strays)
    activated = _activated(socket_units.value or ())
    ends = [
        UnitEnds(one, holders, activated if SYSTEMD in members else {}, strays) for members, one in seen.ends
    ]
    # Users and systemd last, which serves nothing itself.
    others = sorted(unit_of.keys() - set(pids), key=lambda pid: (_is_users(unit_of[pid]), -pid))
    if holders.look_for((inode for one in ends for inode in one.sought(wanted)), others):
        reasons.append("some clients are not named: not every process could be looked at")
    return Reading(_by_unit(ends, wanted - unseen, reasons))


def _is_users(unit: str) -> bool:
    return unit.startswith(("user@", "session-"))


def _all_units(unit_of: Mapping[int, str], socket_units: Collection[SocketUnit]) -> frozenset[str]:
    services = {unit for unit in unit_of.values() if unit.endswith(".service")}
    return frozenset(services.union(*({unit.name, *unit.triggers} for unit in socket_units)))


def _activated(socket_units: Collection[SocketUnit]) -> dict[str, frozenset[str]]:
    """By address: the socket unit that listens there and the services that it starts."""
    found: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for unit in socket_units:
        for address in unit.addresses:
            found[address] |= {unit.name, *unit.triggers}
    return found


def _by_address(strays: Iterable[Stray]) -> dict[str, list[Stray]]:
    """Strays by the address that they were accepted at."""
    found: defaultdict[str, list[Stray]] = defaultdict(list)
    for stray in strays:
        found[stray.address].append(stray)
    return found


@dataclass(frozen=True, slots=True)
class _Namespaces:
    """What there is in the network namespaces of a machine."""

    ends: tuple[tuple[Collection[int], NamespaceEnds], ...]  # of those we want, with their processes
    strays: tuple[Stray, ...]  # of all
    missed: set[int]  # processes whose sockets could not be read
    reasons: tuple[str, ...]


def _read_namespaces(host: Host, pids: Iterable[int], wanted: Iterable[int]) -> _Namespaces:
    """The ends of the namespaces that the wanted processes and systemd are in, and the strays of all."""
    inside: defaultdict[str, list[int]] = defaultdict(list)
    missed: set[int] = set()
    reasons = []
    for pid in pids:
        name = read_network_namespace(host, pid)
        if name.absence:
            missed.add(pid)
            reasons.append(name.reason)
        elif name.value:
            inside[name.value].append(pid)
    full = {SYSTEMD, *wanted}
    ends = []
    strays: list[Stray] = []
    for namespace, members in inside.items():
        if full.isdisjoint(members):
            found = read_strays(host, namespace, members)
            strays += found.value or ()
            reasons.append(found.reason)
            continue
        one = read_namespace_ends(host, namespace, members)
        ends.append((members, one))
        strays += one.strays
        reasons += [one.unread, one.without_peers]
        if one.unread:
            missed.update(members)
    return _Namespaces(tuple(ends), tuple(strays), missed, tuple(filter(None, reasons)))


def _by_unit(ends: Iterable[UnitEnds], known: Collection[str], reasons: Iterable[str]) -> UnitSockets:
    serves: dict[str, set[Served]] = {unit: set() for unit in known}
    calls: dict[str, set[str]] = {unit: set() for unit in known}
    not_all_seen = set()
    for one in ends:
        for unit, served, keeps_connections in one.serves():
            if unit in known:
                serves[unit].add(served)
                if not keeps_connections:
                    not_all_seen.add(unit)
        for unit, address in one.calls():
            if unit in known:
                calls[unit].add(address)
    told = list(dict.fromkeys(reasons))
    if len(told) > MOST_REASONS:
        told[MOST_REASONS:] = [f"and {len(told) - MOST_REASONS} more"]
    return UnitSockets(
        serves={
            unit: tuple(sorted(found, key=lambda served: served.address)) for unit, found in serves.items()
        },
        calls={unit: tuple(sorted(found)) for unit, found in calls.items()},
        partial="; ".join(told),
        may_have_unseen_clients=frozenset(not_all_seen),
    )


def read_socket_units(host: Host) -> Reading[tuple[SocketUnit, ...]]:
    """All active socket units. It takes about 0.5 ms each (measured with 54), and systemd 230."""
    return ask_systemd(host, _list_socket_units)


def _list_socket_units(bus: SystemdBus) -> tuple[SocketUnit, ...]:
    (listed,) = bus.call("ListUnitsByPatterns", "asas", ([], ["*.socket"]))
    rows = [row for row in listed if row[3] == "active"]
    asked = [
        (row[6], interface, name)
        for row in rows
        for interface, name in (("Socket", "Listen"), ("Unit", "Triggers"))
    ]
    values = iter(bus.properties(asked))
    return tuple(_socket_unit(row[0], next(values), next(values)) for row in rows)


def _socket_unit(name: str, listens: list[tuple[str, str]] | None, triggers: list[str] | None) -> SocketUnit:
    addresses = frozenset(_address(kind, place) for kind, place in listens or () if kind in PROTOCOLS)
    return SocketUnit(name, addresses, tuple(triggers or ()))


def _address(kind: str, place: str) -> str:
    return f"{'unix' if place.startswith(('/', '@')) else PROTOCOLS[kind]} {place}"
