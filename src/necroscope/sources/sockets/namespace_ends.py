"""All listeners and connections of one network namespace.

Reads    /proc/PID/net/{tcp,tcp6,udp,udp6,unix} of one of its processes, net.ipv4.ip_local_port_range, and
         for our own namespace the kernel's socket diagnosis
Needs    nothing
Costs    about 6 us per UNIX socket and 13 us per connection (measured with 50,000 and 10,000)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.sockets.socket_ends import Call, Listener, Stray, join_internet, join_unix
from necroscope.sources.sockets.socket_tables import InternetSocket, UnixSocket, parse_internet, parse_unix
from necroscope.sources.sockets.unix_peers import read_unix_sockets

USUAL_PORTS = range(32768, 61000)  # of clients, where the kernel does not say


@dataclass(frozen=True, slots=True)
class NamespaceEnds:
    """What the processes of one network namespace listen on, and whom they call."""

    listeners: tuple[Listener, ...]
    calls: tuple[Call, ...]
    strays: tuple[Stray, ...]
    unread: str  # why one of its tables could not be read; empty where all could
    without_peers: str  # why it is not known who is connected to its UNIX sockets; empty where it is


def read_namespace_ends(host: Host, namespace: str, pids: Sequence[int]) -> NamespaceEnds:
    """The ends of a namespace, read by way of the first of its processes that is still there."""
    folder = _find_folder(host, pids)
    if not folder:
        return NamespaceEnds((), (), (), "", "")  # all have gone, and their sockets with them
    unread = []
    listeners: list[Listener] = []
    calls: list[Call] = []
    for protocol in ("tcp", "udp"):
        sockets: list[InternetSocket] = []
        for table in (protocol, f"{protocol}6"):
            reading = host.read(f"{folder}/{table}").parsed(partial(parse_internet, protocol=protocol))
            sockets += reading.value or ()
            # Without IPv6 there is no such file.
            if reading.absence and not (table.endswith("6") and reading.absence is Absence.NOT_SUPPORTED):
                unread.append(reading.reason)
        ends = join_internet(sockets, _client_ports(host))
        listeners += ends.listeners
        calls += ends.calls
    unix, without_peers = _read_unix(host, namespace, folder)
    if unix.absence:
        unread.append(unix.reason)
    ends = join_unix(unix.value or ())
    return NamespaceEnds(
        listeners=(*listeners, *ends.listeners),
        calls=(*calls, *ends.calls),
        strays=ends.strays,
        unread="; ".join(unread),
        without_peers=without_peers,
    )


def read_strays(host: Host, namespace: str, pids: Sequence[int]) -> Reading[tuple[Stray, ...]]:
    """Only the ends of connections to listeners in other namespaces: the other tables cost more.

    On a machine that runs, never from the kernel's text: a socket in that namespace may have a name with a
    line end that goes on like the line of somebody else's socket.
    """
    folder = _find_folder(host, pids)
    if not folder:
        return Reading(())
    sockets, without_peers = _read_unix(host, namespace, folder)
    if host.is_live and without_peers:
        return Reading(absence=Absence.NOT_PERMITTED, detail=without_peers)
    return sockets.parsed(lambda found: join_unix(found).strays)


def _find_folder(host: Host, pids: Sequence[int]) -> str:
    return next((f"/proc/{pid}/net" for pid in pids if host.names(f"/proc/{pid}/net").value), "")


def _read_unix(host: Host, namespace: str, folder: str) -> tuple[Reading[tuple[UnixSocket, ...]], str]:
    """The UNIX sockets of a namespace, and why their peers are not known."""
    why = f"{namespace} is not our network namespace"
    if host.is_live:
        is_ours = namespace == os.readlink("/proc/self/ns/net")  # noqa: PTH115 - a name, not a place
        inside = str(host.path(folder).parent / "ns/net")
        sockets = read_unix_sockets("" if is_ours else inside)
        if sockets.value is not None:
            return sockets, ""
        why = sockets.reason
    listed = host.read(f"{folder}/unix", errors="replace").parsed(parse_unix)
    return listed, f"who is connected by UNIX sockets is not known: {why}"


def _client_ports(host: Host) -> range:
    """The ports that the kernel gives to clients, in the namespace of who reads."""
    try:
        first, last = map(int, host.word("/proc/sys/net/ipv4/ip_local_port_range").split())
    except ValueError:
        return USUAL_PORTS
    return range(first, last + 1)
