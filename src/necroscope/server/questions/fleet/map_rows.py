"""The rows of a map of the fleet: which hosts are in which group, and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from necroscope.server.questions.fleet.exposure import Hour
from necroscope.server.questions.fleet.map_columns import MapColumns

MOST_ROWS = 40
OTHERS = "(all others)"
Numbers = NDArray[np.int64]


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
