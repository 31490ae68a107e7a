from __future__ import annotations

from necroscope.server.wrong_token_delay import MOST_ADDRESSES, WrongTokenDelay, network_of


def test_it_grows_and_ends() -> None:
    delay = WrongTokenDelay()
    assert [delay.seconds_for("10.0.0.1") for _ in range(8)] == [0.25, 0.5, 1, 2, 4, 8, 8, 8]


def test_each_address_has_its_own() -> None:
    delay = WrongTokenDelay()
    delay.seconds_for("10.0.0.1")
    assert delay.seconds_for("10.0.0.2") == 0.25


def test_an_ipv6_client_cannot_change_its_address() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:2") != network_of("2001:db8:0:1::1")
    assert network_of("::ffff:10.0.0.1") != network_of("::ffff:10.0.0.2")
    assert network_of("odd") == network_of("") == "unknown"


def test_it_forgets() -> None:
    now = 0.0
    delay = WrongTokenDelay(lambda: now)
    assert delay.seconds_for("10.0.0.1") < delay.seconds_for("10.0.0.1")
    now = 1000.0
    assert delay.seconds_for("10.0.0.1") == 0.25
    delay.seconds_for("10.0.0.1")
    delay.forget("10.0.0.1")
    assert delay.seconds_for("10.0.0.1") == 0.25


def test_its_memory_is_bounded() -> None:
    delay = WrongTokenDelay()
    for number in range(3 * MOST_ADDRESSES):
        delay.seconds_for(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(delay) == MOST_ADDRESSES
