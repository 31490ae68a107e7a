from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from necroscope.errors import UsageError
from necroscope.fleet.questions.where import UNKNOWN_VALUE
from necroscope.server.questions.fleet import fleet_map
from necroscope.server.questions.fleet.fleet_answers import FleetMap
from necroscope.server.questions.fleet.fleet_map import OTHERS, ask_fleet_map
from necroscope.server.questions.fleet.fleet_span import FleetSpan
from necroscope.server.questions.fleet.map_columns import choose_columns
from tests.server.questions.fleet.known_fleet import BEGIN_US, HOURS, SPAN, at_us, known_fleet, reset

HOUR_US = 3600 * 10**6
EVENTS = [
    reset("host-1", 0.5),
    reset("host-1", 0.5 + 8 / 3600),  # of the same episode
    reset("host-1", 0.5 + 16 / 3600),  # still: it follows the one before
    reset("host-1", 0.5, device="eth1"),  # another device
    reset("host-1", 0.5 + 200 / 3600),  # later
    reset("host-3", 3.1),
    reset("host-2", 3.2),
    reset("host-11", 1.5),  # nothing is known of this one
]


def array(answer: FleetMap, packed: str) -> NDArray[np.uint32]:
    return np.frombuffer(b64decode(packed), "<u4").reshape(len(answer.groups), answer.columns)


def test_groups_by_zone(tmp_path: Path) -> None:
    answer = ask_fleet_map(known_fleet(tmp_path, EVENTS), SPAN, "labels/zone", 100)
    assert (answer.begin_us, answer.step_us, answer.columns) == (BEGIN_US, HOUR_US, HOURS)
    told = [(g.name, g.hosts, g.affected, g.episodes, g.host_hours) for g in answer.groups]
    assert told == [("b", 5, 2, 4, 18.0), ("a", 6, 1, 1, 24.0), (UNKNOWN_VALUE, 1, 1, 1, 4.0)]
    assert [group.is_unknown for group in answer.groups] == [False, False, True]
    assert array(answer, answer.episodes).tolist() == [[3, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 0]]
    assert array(answer, answer.affected).tolist() == [[1, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 0]]
    recorded = array(answer, answer.recorded_seconds) // 3600
    assert recorded.tolist() == [[4, 4, 5, 5], [6, 6, 6, 6], [1, 1, 1, 1]]


def test_a_column_in_which_nothing_was_recorded_has_no_seconds(tmp_path: Path) -> None:
    fleet = known_fleet(tmp_path, EVENTS)
    answer = ask_fleet_map(fleet, SPAN, "labels/number", 100)
    row = next(place for place, group in enumerate(answer.groups) if group.name == "3")
    assert array(answer, answer.recorded_seconds)[row].tolist() == [0, 0, 3600, 3600]


def test_fewer_columns_are_longer(tmp_path: Path) -> None:
    answer = ask_fleet_map(known_fleet(tmp_path, EVENTS), SPAN, "labels/zone", 2)
    assert (answer.step_us, answer.columns) == (2 * HOUR_US, 2)
    assert array(answer, answer.episodes)[0].tolist() == [3, 1]


def test_a_part_of_the_time(tmp_path: Path) -> None:
    span = FleetSpan(at_us(3), at_us(4))
    answer = ask_fleet_map(known_fleet(tmp_path, EVENTS), span, "labels/zone", 100)
    assert answer.columns == 1 and sum(group.episodes for group in answer.groups) == 2


def test_those_with_the_fewest_hosts_share_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_map, "MOST_ROWS", 4)
    answer = ask_fleet_map(known_fleet(tmp_path, EVENTS), SPAN, "labels/number", 100)
    assert len(answer.groups) == 4 and answer.left_out == 9
    (others,) = [group for group in answer.groups if group.name == OTHERS]
    assert others.hosts == 9
    assert sum(group.episodes for group in answer.groups) == 6
    assert sum(group.host_hours for group in answer.groups) == 46.0


def test_an_event_of_an_hour_that_is_not_recorded_is_shown(tmp_path: Path) -> None:
    answer = ask_fleet_map(known_fleet(tmp_path, [reset("host-3", 0.2)]), SPAN, "labels/number", 100)
    assert answer.groups[0].name == "3" and answer.groups[0].episodes == 1


def test_what_nobody_has_is_no_label(tmp_path: Path) -> None:
    fleet = known_fleet(tmp_path, EVENTS)
    for label in ("labels/colour", "", "x/'; DROP TABLE events"):
        with pytest.raises(UsageError):
            ask_fleet_map(fleet, SPAN, label, 100)


def test_a_host_without_the_label_is_an_unknown_one(tmp_path: Path) -> None:
    only = [{"section_id": "labels-of-host-0", "name": "zone", "value": "a"}]
    answer = ask_fleet_map(known_fleet(tmp_path, EVENTS, sections=only), SPAN, "labels/zone", 100)
    assert {group.name: group.hosts for group in answer.groups} == {"a": 1, UNKNOWN_VALUE: 11}


@pytest.mark.parametrize("most", [1, 2, 7, 168, 4096])
@pytest.mark.parametrize("hours", [0.01, 1, 23.5, 168, 35 * 24])
def test_columns_cover_the_range_and_are_not_too_many(most: int, hours: float) -> None:
    begin_us = BEGIN_US + 12_345_678
    end_us = begin_us + int(hours * HOUR_US)
    columns = choose_columns(begin_us, end_us, most)
    assert columns.begin_us <= begin_us and columns.begin_us + columns.count * columns.step_us >= end_us
    assert columns.count <= max(most, 2) and columns.step_us % HOUR_US == 0
    assert 0 <= columns.of(begin_us) <= columns.of(end_us - 1) < columns.count
