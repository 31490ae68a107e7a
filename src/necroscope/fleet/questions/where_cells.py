"""What `fleet where` counts: hosts by what they were made of, how long they were recorded, their episodes.

A host whose facts changed is a cell for each of them, with the time it had then; of a label that stayed the
same these are put together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.episodes import gather_episodes, texts
from necroscope.fleet.host_facts import UNKNOWN, FactColumn, HostFacts, gather_facts
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.fleet.concentration import Exposed
from necroscope.model.timestamp import HOUR_US
from necroscope.signals.thresholds import Thresholds
from necroscope.statistics.graded_hosts import exposure_strata, grades
from necroscope.statistics.rate_ratios import Side

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """A fact over the cells."""

    fact: str
    values: tuple[str, ...]
    codes: Whole  # by cell; UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Hosts with the facts they had."""

    host: Whole  # a number for each host
    has_facts: Flags
    recorded_us: Whole
    episodes: Whole
    labels: tuple[Label, ...]

    @property
    def hosts(self) -> int:
        """How many there are."""
        return len(np.unique(self.host))


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Hosts, each once for every combination of some codes that it had."""

    codes: Whole  # combinations x codes
    recorded_us: Whole
    episodes: Whole

    @property
    def grade(self) -> Whole:
        """How badly each is affected."""
        return grades(self.episodes)

    @property
    def exposure(self) -> Whole:
        """Which have about the same time."""
        return exposure_strata(self.recorded_us)

    def side(self, chosen: Flags) -> Side:
        """Some of them, to compare rates."""
        return Side(self.episodes[chosen], self.recorded_us[chosen] / HOUR_US)

    def exposed(self, chosen: Flags) -> Exposed:
        """Some of them, counted."""
        episodes = self.episodes[chosen]
        hours = int(self.recorded_us[chosen].sum()) / HOUR_US
        return Exposed(int(chosen.sum()), int((episodes > 0).sum()), int(episodes.sum()), hours)


def units_of(cells: Cells, *codes: Whole) -> Units:
    """The hosts by some codes, of cells in which all of them are known."""
    known = np.all([code != UNKNOWN for code in codes], axis=0) & (cells.recorded_us > 0)
    key = cells.host[known]
    for code in codes:
        its = code[known]
        key = key * (int(its.max(initial=0)) + 1) + its
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    count = len(first)
    return Units(
        np.stack([code[known][first] for code in codes], axis=-1),
        _sums(place, cells.recorded_us[known], count),
        _sums(place, cells.episodes[known], count),
    )


def _sums(place: NDArray[np.int_], amounts: Whole, count: int) -> Whole:
    """Sums of whole numbers, without a rounding."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, place, amounts)
    return sums


def gather_cells(  # noqa: PLR0913, PLR0917 - what was asked, and of whom
    tables: FleetTables,
    engine: Engine,
    kinds: Sequence[str],
    span: tuple[int, int],
    thresholds: Thresholds,
    facts: Sequence[str] = (),
) -> Cells:
    """The cells of a range of time."""
    spells = engine.gather(
        tables,
        Gathering("segments", ("host", "facts"), (("recorded_us", "sum", "sum(recorded_us)"),)),
        *span,
    )
    episodes = gather_episodes(tables, engine, kinds, span, thresholds)
    host_facts = gather_facts(tables, engine, facts)
    return make_cells(
        texts(spells, "host"),
        texts(spells, "facts"),
        spells.column("recorded_us").to_numpy().astype(np.int64),
        (texts(episodes, "host"), texts(episodes, "facts")),
        host_facts,
    )


def make_cells(
    host: NDArray[np.object_],
    facts: NDArray[np.object_],
    recorded_us: Whole,
    episodes: tuple[NDArray[np.object_], NDArray[np.object_]],
    host_facts: HostFacts,
) -> Cells:
    """Cells of spells (host, facts, time) and of the (host, facts) of every episode.

    An episode whose segment is not there, as one of a host that was just asked for, has no time, and no cell.
    """
    names, number = np.unique(host, return_inverse=True)
    ids, fact_number = np.unique(np.concatenate([facts, episodes[1]]), return_inverse=True)
    own = number * (len(ids) + 1) + fact_number[: len(host)]
    order = np.argsort(own)
    place = np.searchsorted(names, episodes[0]).clip(max=max(len(names) - 1, 0))
    its = place * (len(ids) + 1) + fact_number[len(host) :]
    found = np.searchsorted(own[order], its).clip(max=max(len(own) - 1, 0))
    is_there = (names[place] == episodes[0]) & (own[order][found] == its) if len(own) else np.zeros(0, bool)
    counts = np.zeros(len(host), dtype=np.int64)
    np.add.at(counts, order[found[is_there]], 1)
    places = host_facts.places(facts)
    labels = tuple(Label(one.fact, one.values, _codes(one, places)) for one in host_facts.columns)
    return Cells(number.astype(np.int64), places != UNKNOWN, recorded_us, counts, labels)


def _codes(column: FactColumn, places: NDArray[np.int64]) -> Whole:
    return np.where(places == UNKNOWN, UNKNOWN, column.codes[places]).astype(np.int64)
