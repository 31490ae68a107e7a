"""Groups of hosts over time: how often something happened to them, and how long they were recorded."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

import numpy as np

from necroscope.fleet.questions.where import UNKNOWN_VALUE
from necroscope.model.timestamp import SECOND_US
from necroscope.server.answers.fleet.fleet_map import FleetGroup, FleetMap
from necroscope.server.fleet_span import HOUR_US, FleetSpan
from necroscope.server.fleet_store import FleetStore
from necroscope.server.questions.fleet.episodes import HostEpisode
from necroscope.server.questions.fleet.map_columns import MapColumns, choose_columns
from necroscope.server.questions.fleet.map_rows import MapRows, Numbers, choose_rows, recorded


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
