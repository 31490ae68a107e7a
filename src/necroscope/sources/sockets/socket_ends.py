"""Who listens and who calls, joined from the sockets of one network namespace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from necroscope.sources.sockets.socket_tables import InternetSocket, State, UnixSocket

UNKNOWN = "unknown process"


@dataclass(frozen=True, slots=True)
class Client:
    """The other end of a connection that somebody's listener has."""

    inode: int  # 0: it is not in this namespace, or not known
    address: str  # what to call it where no process is found: 10.0.0.7


@dataclass(frozen=True, slots=True)
class Listener:
    """An address that somebody listens on, and who is connected to it."""

    address: str  # tcp 127.0.0.1:51678, unix /run/docker.sock
    inodes: frozenset[int]  # several where several sockets share the address
    clients: tuple[Client, ...]
    keeps_connections: bool  # without them, a client that just sends is not seen


@dataclass(frozen=True, slots=True)
class Call:
    """A connection from the side that made it."""

    inode: int
    address: str
    listeners: frozenset[int]  # inodes of who listens there; empty where it is not in this namespace


@dataclass(frozen=True, slots=True)
class Stray:
    """The accepted end of a UNIX connection that is not in the namespace of its listener.

    The kernel keeps both ends of a connection in the namespace of the client.
    """

    inode: int
    address: str  # of the listener
    client: Client


@dataclass(frozen=True, slots=True)
class Ends:
    """Both sides."""

    listeners: tuple[Listener, ...]
    calls: tuple[Call, ...]
    strays: tuple[Stray, ...] = ()


def join_internet(sockets: Sequence[InternetSocket], client_ports: range) -> Ends:
    """The ends of TCP or UDP; `client_ports` are those that the kernel gives to clients.

    A UDP socket at such a port does not count as a listener: it waits for an answer.
    """
    listening: dict[str, set[int]] = defaultdict(set)
    for one in sockets:
        if one.state is State.LISTENING and (one.protocol == "tcp" or _port(one.local) not in client_ports):
            listening[one.local].add(one.inode)
    connected = [one for one in sockets if one.state is State.CONNECTED]
    ends = {(one.local, one.remote): one for one in connected}
    clients: dict[str, set[Client]] = defaultdict(set)
    calls = []
    for one in connected:
        other = ends.get((one.remote, one.local))
        served = _listener(one.local, listening)
        if served is not None:
            clients[served].add(Client(other.inode if other else 0, _host(one.remote)))
            continue
        there = _listener(one.remote, listening) if other or _is_here(one) else None
        if there is not None and other is None:  # UDP: the listener's socket is not connected itself
            clients[there].add(Client(one.inode, _host(one.local)))
        inodes = frozenset(listening[there]) if there is not None else frozenset()
        calls.append(Call(one.inode, f"{one.protocol} {one.remote}", inodes))
    protocol = sockets[0].protocol if sockets else ""
    listeners = tuple(
        Listener(f"{protocol} {address}", frozenset(inodes), tuple(clients[address]), protocol == "tcp")
        for address, inodes in listening.items()
    )
    return Ends(listeners, tuple(calls))


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def _host(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")


def _listener(address: str, listening: Iterable[str]) -> str | None:
    """The address that takes connections to this one: the same, else all of its family, else all."""
    port = _port(address)
    wide = (f"[::]:{port}",) if address.startswith("[") else (f"0.0.0.0:{port}", f"[::]:{port}")
    return next((one for one in (address, *wide) if one in listening), None)


def _is_here(one: InternetSocket) -> bool:
    """Whether the other end is on this machine, as far as the addresses say."""
    host = _host(one.remote)
    return host.startswith("127.") or host in ("::1", _host(one.local))


def join_unix(sockets: Sequence[UnixSocket]) -> Ends:
    """The ends of UNIX sockets. An accepted one has the name of its listener."""
    by_inode = {one.inode: one for one in sockets if one.inode}
    listening: dict[tuple[str, object], list[UnixSocket]] = defaultdict(list)
    for one in sockets:
        if one.state is State.LISTENING:
            listening[one.name, one.file].append(one)
    clients: dict[tuple[str, object], set[Client]] = defaultdict(set)
    calls = []
    strays = []

    def join(client: int, place: tuple[str, object]) -> None:
        clients[place].add(Client(client, UNKNOWN))
        if client:
            inodes = frozenset(one.inode for one in listening[place])
            calls.append(Call(client, f"unix {place[0]}", inodes))

    for one in sockets:
        place = (one.name, one.file)
        for client in one.waiting:
            join(client, place)
        if one.state is not State.CONNECTED:
            continue
        peer = by_inode.get(one.peer or 0)
        if place in listening and not one.is_datagram:
            join(one.peer or 0, place)
        elif one.is_datagram and peer and (peer.name, peer.file) in listening:
            join(one.inode, (peer.name, peer.file))
        elif one.name.startswith("/") and not one.is_datagram:  # a client that has a name has an abstract one
            strays.append(Stray(one.inode, f"unix {one.name}", Client(one.peer or 0, UNKNOWN)))
            if peer:
                calls.append(Call(peer.inode, f"unix {one.name}", frozenset([one.inode])))
    listeners = tuple(
        Listener(
            address=f"unix {place[0]}",
            inodes=frozenset(one.inode for one in group),
            clients=tuple(clients[place]),
            keeps_connections=not any(one.is_datagram for one in group),
        )
        for place, group in listening.items()
    )
    return Ends(listeners, tuple(calls), tuple(strays))
