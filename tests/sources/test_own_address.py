from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.reading import Reading
from necroscope.sources.host import Host
from necroscope.sources.own_address import (
    _by_default_route,
    own_address,
    parse_local_addresses,
    parse_routes,
)

HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
DEFAULT = "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
ETH0 = "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
DOCKER = "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
GATEWAY_ALONE = "eth0\t010200C0\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n"  # as on GCP
TRIE = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 127.0.0.1
        /32 host LOCAL
     |-- 172.17.0.1
        /32 host LOCAL
     |-- 172.17.0.0
        /16 link UNICAST
     |-- 192.0.2.2
        /32 host LOCAL
     |-- 192.0.2.255
        /32 link BROADCAST
Local:
     |-- 192.0.2.2
        /32 host LOCAL
"""


def test_the_machines_own_addresses_are_those_that_are_local() -> None:
    assert [str(address) for address in parse_local_addresses(TRIE)] == ["172.17.0.1", "192.0.2.2"]


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        (HEAD + DOCKER + ETH0 + DEFAULT, ["192.0.2.2", "192.0.2.2"]),
        (HEAD + DEFAULT + GATEWAY_ALONE + DOCKER, ["192.0.2.2"]),
        (HEAD + DOCKER + ETH0, []),  # no way out: nobody knows it by an address
        (HEAD, []),
        ("", []),
    ],
)
def test_the_one_with_the_default_route_is_meant(routes: str, expected: list[str]) -> None:
    found = _by_default_route(parse_routes(routes), parse_local_addresses(TRIE))
    assert [str(address) for address in found] == expected


@pytest.mark.parametrize("text", ["eth0 zz zz", "\x00\xff" * 100, HEAD + "eth0\tZZ\t0\t0\t0\t0\t0\t0\n"])
def test_odd_files_have_no_routes(text: str) -> None:
    assert not Reading(text).parsed(parse_routes).value


def test_another_root_has_no_address(tmp_path: Path) -> None:
    assert own_address(Host(tmp_path)) == ""
