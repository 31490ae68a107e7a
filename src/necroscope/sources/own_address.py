"""The address by which others of its network know this machine: that of the device with the default route.

    Iface   Destination  Gateway   Flags ... Mask            /proc/net/route, hexadecimal, backwards
    eth0    00000000     010200C0  0003      00000000

    |-- 192.0.2.2                                            /proc/net/fib_trie
       /32 host LOCAL

Nothing is asked of the network. A machine that has IPv6 alone has no such address here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from necroscope.sources.host import Host

NOWHERE = IPv4Address(0)


@dataclass(frozen=True, slots=True)
class Route:
    """Where packets to a network leave, and by which gateway; NOWHERE: its hosts are reached directly."""

    device: str
    network: IPv4Network
    gateway: IPv4Address


def parse_routes(text: str) -> list[Route]:
    """The routes of /proc/net/route."""
    rows = [line.split() for line in text.splitlines()[1:]]
    return [
        Route(row[0], IPv4Network((_address(row[1]), str(_address(row[7])))), _address(row[2]))
        for row in rows
        if len(row) > 7
    ]


def parse_local_addresses(text: str) -> list[IPv4Address]:
    """The machine's own addresses from /proc/net/fib_trie, without those of the loopback."""
    return [address for address in dict.fromkeys(_local(text)) if not address.is_loopback]


def own_address(host: Host) -> str:
    """The address; empty where there is no network, or where we are in another one than the machine."""
    if not (host.is_live and host.is_own):
        return ""
    routes = host.read("/proc/net/route").parsed(parse_routes).value or []
    local = host.read("/proc/net/fib_trie").parsed(parse_local_addresses).value or []
    return str(next(_by_default_route(routes, local), ""))


def _by_default_route(routes: list[Route], local: list[IPv4Address]) -> Iterator[IPv4Address]:
    """The likeliest first: in a network of the default route's device, else in that of no other device."""
    default = next((route.device for route in routes if not route.network.prefixlen), "")
    direct = [route for route in routes if route.network.prefixlen and route.gateway == NOWHERE]
    own = [route.network for route in direct if route.device == default]
    others = [route.network for route in direct if route.device != default]
    if default:
        yield from (one for one in local if any(one in network for network in own))
        yield from (one for one in local if not any(one in network for network in others))


def _local(text: str) -> Iterator[IPv4Address]:
    before = ""
    for line in text.splitlines():
        if line.strip() == "/32 host LOCAL" and before.startswith("|-- "):
            yield IPv4Address(before.removeprefix("|-- "))
        before = line.strip()


def _address(hexadecimal: str) -> IPv4Address:
    return IPv4Address(bytes.fromhex(hexadecimal)[::-1])
