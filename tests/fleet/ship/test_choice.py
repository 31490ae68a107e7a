"""Which segments are shipped whole."""

from __future__ import annotations

from dataclasses import replace

from necroscope.fleet.ship.stage import RECENT_NS, around_events, within
from necroscope.store.retention import Entry

NOW_NS = 1_776_247_200 * 10**9  # 2026-04-15T10:00:00Z
MINUTE_NS = 60 * 10**9


def entries(*kept: int, boot: str = "a") -> list[Entry]:
    """Segments of a minute from 10:00 on, in order."""
    return [
        Entry(
            f"20260415T10{n:02d}00Z", 0, boot, n * MINUTE_NS, NOW_NS + (n + 1) * MINUTE_NS, 100, worth, False
        )
        for n, worth in enumerate(kept)
    ]


def names(found: list[Entry]) -> list[int]:
    return [int(entry.name[11:13]) for entry in found]


def test_an_event_brings_its_neighbours() -> None:
    assert names(around_events(entries(0, 0, 2, 0, 0, 0, 1, 0), NOW_NS)) == [1, 2, 3]
    assert names(around_events(entries(2, 0, 0, 0, 2), NOW_NS)) == [0, 1, 3, 4]
    assert names(around_events(entries(0, 1, 0), NOW_NS)) == [], "frequent kinds do not"


def test_the_one_after_comes_when_it_is_sealed() -> None:
    found = entries(0, 2, 0)
    found[2] = replace(found[2], is_open=True)
    assert names(around_events(found, NOW_NS)) == [0, 1]
    found[2] = replace(found[2], is_open=False)
    assert names(around_events(found, NOW_NS)) == [0, 1, 2]


def test_a_neighbour_of_another_boot_is_none() -> None:
    found = entries(0, 2, 0)
    found[0] = replace(found[0], boot_id="b")
    assert names(around_events(found, NOW_NS)) == [1, 2]


def test_events_of_long_ago_are_the_business_of_requests() -> None:
    assert not around_events(entries(2, 2), NOW_NS + RECENT_NS + 3 * MINUTE_NS)


def test_a_range_has_what_it_touches() -> None:
    begin_us = NOW_NS // 1000
    assert names(within(entries(0, 0, 0, 0), begin_us + 90_000_000, begin_us + 130_000_000)) == [1, 2]
    assert not within(entries(0, 0), begin_us + 10**9, begin_us + 2 * 10**9)
