from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.errors import UsageError
from necroscope.server.questions.fleet import fleet_events
from necroscope.server.questions.fleet.fleet import ask_fleet
from necroscope.server.questions.fleet.fleet_events import ask_fleet_events
from necroscope.server.questions.fleet.fleet_map import OTHERS
from necroscope.server.questions.fleet.fleet_span import FleetSpan
from necroscope.server.questions.fleet.verbs import ask_fleet_where
from tests.server.questions.fleet.known_fleet import (
    BEGIN_US,
    SEGMENT_US,
    SPAN,
    at_us,
    known_fleet,
    reset,
    segment_name,
)

EVENTS = [
    reset("host-1", 0.5, core=3),
    reset("host-1", 0.5 + 8 / 3600),
    reset("host-2", 3.2),
    reset("host-11", 1.5),
]
SHIPPED = {
    "host": "host-2",
    "segment": segment_name(at_us(3.2)),
    "boot_id": "boot-of-host-2",
    "begin_us": at_us(3.2) // SEGMENT_US * SEGMENT_US,
    "end_us": at_us(3.2) + SEGMENT_US,
    "name": "segment.json",
    "bytes": 1,
    "sha256": "0",
}


def test_the_first_of_each_episode_the_newest_first(tmp_path: Path) -> None:
    answer = ask_fleet_events(known_fleet(tmp_path, EVENTS, files=[SHIPPED]), SPAN, "labels/zone", "")
    assert [event.host for event in answer.events] == ["host-2", "host-11", "host-1"]
    assert [event.is_shipped for event in answer.events] == [True, False, False]
    assert answer.events[2].time_us == at_us(0.5) and answer.events[2].core == 3
    assert answer.left_out == 0


def test_of_one_group_and_of_some_time(tmp_path: Path) -> None:
    fleet = known_fleet(tmp_path, EVENTS)
    assert [e.host for e in ask_fleet_events(fleet, SPAN, "labels/zone", "b").events] == ["host-1"]
    assert [e.host for e in ask_fleet_events(fleet, SPAN, "labels/zone", "unknown").events] == ["host-11"]
    assert ask_fleet_events(fleet, SPAN, "labels/zone", "nowhere").events == []
    late = FleetSpan(at_us(3), at_us(4))
    assert [e.host for e in ask_fleet_events(fleet, late, "labels/zone", "").events] == ["host-2"]


def test_of_too_many_the_newest_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_events, "MOST_EVENTS", 2)
    answer = ask_fleet_events(known_fleet(tmp_path, EVENTS), SPAN, "labels/zone", "")
    assert [event.host for event in answer.events] == ["host-2", "host-11"] and answer.left_out == 1


def test_nobody_can_tell_the_events_of_all_others(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        ask_fleet_events(known_fleet(tmp_path, EVENTS), SPAN, "labels/zone", OTHERS)


def test_kinds_that_there_are_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        FleetSpan(BEGIN_US, BEGIN_US + 1, ("nic-reset'; --",))
    answer = ask_fleet_events(
        known_fleet(tmp_path, EVENTS), FleetSpan(SPAN.begin_us, SPAN.end_us, ("oom-kill",)), "labels/zone", ""
    )
    assert answer.events == []


def test_what_there_is_of_a_fleet(tmp_path: Path) -> None:
    answer = ask_fleet(known_fleet(tmp_path, EVENTS))
    assert (answer.begin_us, answer.end_us, answer.hosts) == (SPAN.begin_us, SPAN.end_us, 12)
    assert answer.kinds == {"nic-reset": 4}
    assert [(label.name, label.values) for label in answer.labels] == [
        ("labels/number", 11),
        ("labels/zone", 2),
    ]
    assert answer.place == "(a path of the server)" and not answer.has_jobs


def test_as_many_episodes_as_where_counts(tmp_path: Path) -> None:
    """The page counts by SQL, `where` by a gathering: what they call an episode is the same."""
    crowd = [reset("host-5", 1 + second / 3600, device=f"eth{second % 2}") for second in range(0, 600, 37)]
    fleet = known_fleet(tmp_path, [*EVENTS, *crowd])
    listed = ask_fleet_events(fleet, SPAN, "labels/zone", "")
    assert ask_fleet_where(fleet, SPAN).total.episodes == len(listed.events)
