"""Events on disk: each has one id, and is told as it was told last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from necroscope import _native
from necroscope.errors import StoreError, UsageError
from necroscope.model.event import Event, event_id
from necroscope.model.time_range import TimeRange
from necroscope.store.seal import seal_recorded
from necroscope.store.store import Damage, Store, StoredSegment, read_segment
from necroscope.store.stored_events import (
    EVENTS,
    events_between,
    find_event,
    read_events,
    write_events,
)
from tests.segments import BEGIN_NS
from tests.stored import (
    OFFSET_NS,
    SECOND_NS,
    UTC_NS,
    anchor_at,
    event_of,
    no_profile,
    open_segment,
    sealed_segment,
    seconds_of,
)

MOMENTS = seconds_of(["idle"] * 20)
ALWAYS = TimeRange(0, 2**62)
SATURATED = event_of("core-saturated", 3, sequence=1, core=5, seconds=3.0)
ENDED = replace(SATURATED, seconds=9.0, text="core 5 was in the kernel for 9 s")


def ids(segments: Sequence[StoredSegment]) -> list[str]:
    return [event.id for event in events_between(segments, ALWAYS)]


def test_an_id_tells_kind_time_and_number() -> None:
    event = event_of("nic-reset", 11.25, sequence=1208)
    assert event_id(event, event.time_ns + OFFSET_NS) == "nic-reset-20260415T100011.250Z-1208"


def test_an_id_has_the_millisecond_it_happened_in_and_no_other() -> None:
    event = event_of("oom-kill", 0)
    assert event_id(event, UTC_NS + 999_999_999) == "oom-kill-20260415T100000.999Z-0"
    assert event_id(event, UTC_NS + 7_000_000) == "oom-kill-20260415T100000.007Z-0"


def test_an_id_that_was_told_while_it_happened_is_found_by_its_number(tmp_path: Path) -> None:
    lockup = event_of("soft-lockup", 11.25, sequence=1208)
    sealed_segment(tmp_path, MOMENTS, [lockup, event_of("soft-lockup", 11.3, sequence=1209)])
    segments = Store(tmp_path).segments()
    assert find_event(segments, "soft-lockup-20260415T100011.249Z-1208").event == lockup
    for other in (
        "soft-lockup-20260415T100011.100Z-1208",
        "soft-lockup-20260415T100011.250Z-1210",
        "a-b-c",
        "a",
    ):
        with pytest.raises(UsageError):
            find_event(segments, other)


def test_every_field_of_an_event_comes_back(tmp_path: Path) -> None:
    full = Event(
        *("nic-reset", BEGIN_NS, "rule", "größe\n", 3, True, "stall", "eth0", "0000:00:05.0", "ena", 5, 1),
        *("kubelet", "timeout", 812, 5.18, False, 1.5, "kubelet.service", "virtio_net"),
    )
    bare = Event("oom-kill", BEGIN_NS + 1, "rule", "")
    segment = sealed_segment(tmp_path, MOMENTS, [full, bare])
    assert [stored.event for stored in read_events(segment)] == [full, bare]
    assert [stored.utc_ns for stored in read_events(segment)] == [UTC_NS, UTC_NS + 1]


def test_open_and_sealed_have_the_same_events(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS, [event_of("oom-kill", 5), event_of("nic-reset", 1), SATURATED])
    before = [(stored.id, stored.event) for stored in read_events(segment)]
    seal_recorded(segment, no_profile)
    after = [(stored.id, stored.event) for stored in read_events(read_segment(segment.folder))]
    assert before == after
    assert [event.kind for _, event in after] == ["nic-reset", "core-saturated", "oom-kill"]


@pytest.mark.parametrize("make", [open_segment, sealed_segment])
def test_what_is_told_twice_is_there_once_as_told_last(tmp_path: Path, make: Any) -> None:
    segment = make(tmp_path, MOMENTS, [SATURATED, event_of("oom-kill", 4), ENDED])
    assert [stored.event.seconds for stored in read_events(segment)] == [9.0, None]


def test_one_that_lasts_into_the_next_segment_is_there_once(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS[:6], [SATURATED])
    open_segment(tmp_path, MOMENTS[5:], [ENDED])
    (stored,) = events_between(Store(tmp_path).segments(), ALWAYS)
    assert stored.event == ENDED
    assert find_event(Store(tmp_path).segments(), stored.id).event == ENDED


def test_also_when_the_clock_was_slewed_between_the_two(tmp_path: Path) -> None:
    first = sealed_segment(tmp_path, MOMENTS[:6], [SATURATED])
    sealed_segment(
        tmp_path, MOMENTS[5:], [ENDED], anchor=anchor_at(MOMENTS[5].time_ns, OFFSET_NS + 2_000_000)
    )
    segments = Store(tmp_path).segments()
    (stored,) = events_between(segments, ALWAYS)
    assert stored.event == ENDED
    (told,) = read_events(first)
    assert told.id != stored.id
    assert find_event(segments, told.id).event == SATURATED, "the id that was told first is still found"


def test_an_event_told_in_the_segment_after_is_found_at_its_own_time(tmp_path: Path) -> None:
    restart = event_of("unit-restart", 2)
    sealed_segment(tmp_path, MOMENTS[:6])
    sealed_segment(tmp_path, MOMENTS[5:], [restart])
    segments = Store(tmp_path).segments()
    (stored,) = events_between(segments, TimeRange(UTC_NS, UTC_NS + 4 * SECOND_NS))
    assert stored.event == restart
    assert stored.segment == segments[1]


def test_a_range_has_its_beginning_and_not_its_end(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS, [event_of("oom-kill", second) for second in (1, 2, 3, 4)])
    segments = Store(tmp_path).segments()
    found = events_between(segments, TimeRange(UTC_NS + 2 * SECOND_NS, UTC_NS + 4 * SECOND_NS))
    assert [(event.utc_ns - UTC_NS) // SECOND_NS for event in found] == [2, 3]


def test_events_of_one_moment_are_told_apart_by_their_numbers(tmp_path: Path) -> None:
    events = [event_of("oom-kill", 1, sequence=number) for number in (8, 9)]
    sealed_segment(tmp_path, MOMENTS, events)
    found = ids(Store(tmp_path).segments())
    assert found == ["oom-kill-20260415T100001.000Z-8", "oom-kill-20260415T100001.000Z-9"]


def test_two_hosts_may_have_the_same_event_at_the_same_time(tmp_path: Path) -> None:
    for host in ("node-17", "node-18"):
        sealed_segment(tmp_path, MOMENTS, [event_of("oom-kill", 1)], host=host)
    assert len(ids(Store(tmp_path).segments())) == 2


def test_every_event_is_found_by_its_id_and_no_other(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS[:11], [event_of("oom-kill", 1), event_of("nic-reset", 2)])
    open_segment(tmp_path, MOMENTS[10:], [event_of("oom-kill", 12)])
    segments = Store(tmp_path).segments()
    for stored in events_between(segments, ALWAYS):
        assert find_event(segments, stored.id) == stored
    with pytest.raises(UsageError, match=r"oom-kill-20260415T100001\.000Z-5"):
        find_event(segments, "oom-kill-20260415T100001.000Z-5")


def test_the_id_stays_when_the_clock_is_found_to_have_been_wrong(tmp_path: Path) -> None:
    """Recorded a day late by the clock; NTP set it in the segment after."""
    wrong = anchor_at(BEGIN_NS, OFFSET_NS - 86400 * SECOND_NS, synchronised=False)
    segment = open_segment(tmp_path, MOMENTS[:11], [event_of("oom-kill", 1)], anchor=wrong)
    open_segment(tmp_path, MOMENTS[10:])

    def first() -> tuple[str, int]:
        (stored,) = events_between(Store(tmp_path).segments(), ALWAYS)
        return stored.id, stored.utc_ns

    while_open = first()
    seal_recorded(segment, no_profile)
    assert first() == while_open == ("oom-kill-20260414T100001.000Z-0", UTC_NS + SECOND_NS)


def test_one_that_is_sealed_while_it_is_looked_at_keeps_its_events(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS, [event_of("oom-kill", 1)])
    seal_recorded(segment, no_profile)
    assert len(read_events(segment)) == 1


def test_a_segment_without_events_or_with_none_yet(tmp_path: Path) -> None:
    assert read_events(sealed_segment(tmp_path, MOMENTS)) == []
    assert read_events(open_segment(tmp_path, ())) == []
    imported = sealed_segment(tmp_path, MOMENTS)
    (imported.folder / EVENTS).unlink()
    assert read_events(replace(imported, description=replace(imported.description, files=()))) == []


def test_a_file_that_should_be_there_and_is_not_is_damage(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, MOMENTS, [event_of("oom-kill", 1)])
    (segment.folder / EVENTS).unlink()
    with pytest.raises(StoreError, match=r"events\.parquet is missing"):
        read_events(segment)
    damaged: list[Damage] = []
    assert events_between([segment], ALWAYS, damaged) == []
    assert [one.folder for one in damaged] == [segment.folder]


def test_one_that_was_removed_meanwhile_is_not(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, MOMENTS, [event_of("oom-kill", 1)])
    segment.folder.rename(tmp_path / "going")
    assert read_events(segment) == []


def test_a_column_that_an_older_version_did_not_write_has_its_default(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, MOMENTS, [event_of("oom-kill", 1, unit="a.service")])
    path = segment.folder / EVENTS
    path.unlink()
    write_events(path, [event_of("oom-kill", 1, unit="a.service")], OFFSET_NS)
    table = _native.read_table(path)
    kinds = {int: "int", str: "text", bool: "bool"}
    kept = [
        (name, kinds.get(type(values[0]), "int"), values) for name, values in table.items() if name != "unit"
    ]
    path.unlink()
    _native.write_table(path, kept)
    (stored,) = read_events(segment)
    assert (stored.event.unit, stored.event.kind) == ("", "oom-kill")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, MOMENTS, [event_of("oom-kill", 1)])
    (segment.folder / EVENTS).write_bytes(b"PAR1 no more")
    with pytest.raises(StoreError, match=r"events\.parquet"):
        read_events(segment)
