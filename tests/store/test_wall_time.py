"""Segments of a boot whose clock was set right later are moved to where they belong, and no others."""

from __future__ import annotations

from necroscope.store.segment_description import Clock
from necroscope.store.store import StoredSegment
from necroscope.store.wall_time import with_right_clocks
from tests.stored import SECOND_NS, UTC_NS, listed_segment

RIGHT_NS = UTC_NS  # UTC minus CLOCK_MONOTONIC, when the clock was right and nothing suspended


def segment(
    second: int,
    *,
    ahead: float = 0.0,
    synchronised: bool | None = True,
    boot_id: str = "boot",
    suspended: int = 0,
) -> StoredSegment:
    """Of a machine whose wall clock is some seconds ahead."""
    begin_ns = second * SECOND_NS
    offset_ns = RIGHT_NS + int(ahead * 1e9) + suspended * SECOND_NS
    utc_ns = begin_ns + offset_ns
    clock = Clock(offset_ns, synchronised, suspended * SECOND_NS)
    return listed_segment(utc_ns, utc_ns + 5 * SECOND_NS, clock, boot_id)


def begins(segments: list[StoredSegment]) -> list[float]:
    """When they begin, in seconds of the right clock since boot."""
    return [(one.begin_ns - RIGHT_NS) / 1e9 for one in segments]


def test_right_clocks_are_left_alone() -> None:
    segments = [segment(0), segment(5, ahead=0.001), segment(10, ahead=3600)]
    assert with_right_clocks(segments) == segments, "also when somebody sets it afterwards"


def test_what_was_recorded_before_ntp_set_the_clock_is_moved() -> None:
    segments = [segment(0, ahead=-86400, synchronised=False), segment(5)]
    first, second = with_right_clocks(segments)
    assert begins([first, second]) == [0, 5]
    assert (first.end_ns - first.begin_ns, first.offset_ns) == (5 * SECOND_NS, RIGHT_NS)
    assert second == segments[1]


def test_the_newest_right_clock_of_the_boot_counts() -> None:
    segments = [segment(0, ahead=50, synchronised=False), segment(5, ahead=2), segment(10)]
    for order in (segments, segments[::-1]):
        assert 0 in begins(with_right_clocks(order))


def test_another_boot_cannot_tell() -> None:
    segments = [segment(0, ahead=-7, synchronised=False, boot_id="a"), segment(5, boot_id="b")]
    assert with_right_clocks(segments) == segments


def test_a_boot_that_was_never_right_keeps_what_it_showed() -> None:
    segments = [segment(0, ahead=-7, synchronised=False), segment(5, ahead=-7, synchronised=False)]
    assert with_right_clocks(segments) == segments


def test_suspend_between_the_two_is_counted() -> None:
    """Slept for 1000 s between the two: the first was 1000 s earlier than the clocks' distance says."""
    segments = [segment(0, ahead=-86400, synchronised=False), segment(5, suspended=1000)]
    assert begins(with_right_clocks(segments)) == [0, 1005]


def test_suspend_before_the_wrong_one_is_counted_too() -> None:
    segments = [segment(0, ahead=-7, synchronised=False, suspended=500), segment(5, suspended=1000)]
    assert begins(with_right_clocks(segments)) == [500, 1005]


def test_imports_and_older_descriptions_are_believed() -> None:
    segments = [segment(0, ahead=-7, synchronised=None, boot_id=""), segment(5, ahead=-7, synchronised=None)]
    assert with_right_clocks([*segments, segment(10)])[:2] == segments
