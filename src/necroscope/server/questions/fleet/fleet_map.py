"""Groups of hosts over time: how often something happened to them, and how long they were recorded."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from necroscope.fleet.questions.where import UNKNOWN_VALUE
from necroscope.model.timestamp import HOUR_US, SECOND_US
from necroscope.server.questions.fleet.episodes import HostEpisode
from necroscope.server.questions.fleet.exposure import Hour
from necroscope.server.questions.fleet.fleet_answers import FleetGroup, FleetMap
from necroscope.server.questions.fleet.fleet_span import FleetSpan
from necroscope.server.questions.fleet.fleet_store import FleetStore
from necroscope.server.questions.fleet.map_columns import MapColumns, choose_columns

MOST_ROWS = 40
OTHERS = "(all others)"
Numbers = NDArray[np.int64]


def ask_fleet_map(fleet: FleetStore, span: FleetSpan, label: str, most: int) -> FleetMap:
    """The map of a range by one label."""
    columns = choose_columns(span.begin_us, span.end_us, most)
    grouping, episodes = fleet.grouping(label), fleet.episodes(span)
    seen = recorded(fleet.hours(span), columns)
    groups_of_episodes = [grouping.group_of(episode.facts) for episode in episodes]
    groups_of_facts = [grouping.group_of(facts) for facts in fleet.exposure.facts.all()]
    rows = choose_rows(seen, groups_of_facts, groups_of_episodes)
    places = [rows.numbers[group] for group in groups_of_episodes]
    recorded_us = rows.recorded_us(seen, columns)
    counts = _counts(episodes, places, rows, columns)
    hosts, affected = rows.hosts(seen), _hosts_affected(episodes, places, len(rows.names))
    groups = [
        FleetGroup(
            name=name,
            is_unknown=name == UNKNOWN_VALUE,
            hosts=max(int(hosts[row]), affected[row]),
            affected=affected[row],
            episodes=int(counts[row].sum()),
            host_hours=int(recorded_us[row].sum()) / HOUR_US,
        )
        for row, name in enumerate(rows.names)
    ]
    order = sorted(range(len(groups)), key=lambda row: _place(groups[row]))
    return FleetMap(
        label=label,
        kinds=list(span.kinds),
        begin_us=columns.begin_us,
        step_us=columns.step_us,
        columns=columns.count,
        groups=[groups[row] for row in order],
        left_out=rows.shared,
        episodes=_packed(counts[order]),
        affected=_packed(_affected(episodes, places, rows, columns)[order]),
        recorded_seconds=_packed(recorded_us[order] // SECOND_US),
    )


def _place(group: FleetGroup) -> tuple[bool, float, str]:
    """The highest rate first; what is not known last."""
    return group.is_unknown, -group.episodes / max(group.host_hours, 1e-9), group.name


def _counts(
    episodes: Sequence[HostEpisode], places: Sequence[int], rows: MapRows, columns: MapColumns
) -> Numbers:
    counts = np.zeros((len(rows.names), columns.count), np.int64)
    for episode, row in zip(episodes, places, strict=True):
        counts[row, columns.of(episode.time_us)] += 1
    return counts


def _affected(
    episodes: Sequence[HostEpisode], places: Sequence[int], rows: MapRows, columns: MapColumns
) -> Numbers:
    """Hosts with an episode, each once in a cell."""
    counts = np.zeros((len(rows.names), columns.count), np.int64)
    cells = {(row, columns.of(one.time_us), one.host) for one, row in zip(episodes, places, strict=True)}
    for row, column, _ in cells:
        counts[row, column] += 1
    return counts


def _hosts_affected(episodes: Sequence[HostEpisode], places: Sequence[int], rows: int) -> list[int]:
    """Over the whole range."""
    pairs = {(row, episode.host) for episode, row in zip(episodes, places, strict=True)}
    return [sum(1 for place, _ in pairs if place == row) for row in range(rows)]


def _packed(counts: Numbers) -> str:
    return b64encode(np.minimum(counts, 2**32 - 1).astype("<u4").tobytes()).decode()


@dataclass(frozen=True, slots=True)
class Recorded:
    """Hosts by column: a row for each host, facts and hour."""

    hosts: Numbers
    facts: Numbers
    columns: Numbers
    recorded_us: Numbers


def recorded(hours: Sequence[Hour], columns: MapColumns) -> Recorded:
    """All hours, one after the other."""
    lengths = [len(hour.hosts) for hour in hours]
    places = [columns.of(max(hour.begin_us, columns.begin_us)) for hour in hours]
    return Recorded(
        _joined([hour.hosts for hour in hours]),
        _joined([hour.facts for hour in hours]),
        np.repeat(np.array(places, np.int64), lengths),
        _joined([hour.recorded_us for hour in hours]),
    )


def _joined(arrays: Sequence[NDArray[np.int32] | Numbers]) -> Numbers:
    return np.concatenate([np.empty(0, np.int64), *arrays]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class MapRows:
    """Groups by name, and what a host with some facts is in."""

    names: list[str]
    numbers: Mapping[str, int]  # by the name of a group, also of those that share a row
    of_facts: Numbers  # by the number of facts
    shared: int  # groups that are in the row of all others

    def hosts(self, seen: Recorded) -> Numbers:
        """How many hosts each row has."""
        rows = max(len(self.names), 1)
        once = np.unique(seen.hosts * rows + self.of_facts[seen.facts])
        return np.bincount(once % rows, minlength=rows).astype(np.int64)

    def recorded_us(self, seen: Recorded, columns: MapColumns) -> Numbers:
        """For each row and column the time of all hosts."""
        cells = self.of_facts[seen.facts] * columns.count + seen.columns
        sums = np.bincount(cells, seen.recorded_us, len(self.names) * columns.count)
        return sums.astype(np.int64).reshape(-1, columns.count)


def choose_rows(seen: Recorded, groups: Sequence[str], others: Sequence[str]) -> MapRows:
    """A row for each group; those with the fewest hosts share one where there are too many.

    `groups` are by the number of facts; `others` had an episode in an hour that is not recorded.
    """
    there = {groups[number] for number in np.unique(seen.facts)} | set(others)
    whole = _rows(sorted(there), groups, shared=0)
    if len(there) <= MOST_ROWS:
        return whole
    counts = whole.hosts(seen)
    by_size = sorted(whole.names, key=lambda name: (-counts[whole.numbers[name]], name))
    kept = sorted(by_size[: MOST_ROWS - 1])
    return _rows([*kept, OTHERS], groups, shared=len(there) - len(kept))


def _rows(names: list[str], groups: Sequence[str], shared: int) -> MapRows:
    last = len(names) - 1
    numbers = {name: number for number, name in enumerate(names)}
    numbers |= {name: last for name in groups if name not in numbers}
    of_facts = np.array([numbers[name] for name in groups], np.int64)
    return MapRows(names, numbers, of_facts, shared)
