"""Which hosts a roll-out changed and when, which are compared with them, and how long each was recorded.

Facts are taken once an hour: a host changed between the last time it was seen without the value and the first
time with it. The range is cut at marks, not too many, and what lies between the marks around a host's change
is left out. A host that never changed is looked at as if it had changed when one of the changed ones did, in
turn: so both groups have their time before and after at the same time of day and week.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.episodes import gather_episodes, texts
from necroscope.fleet.host_facts import UNKNOWN, gather_facts
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.timestamp import HOUR_US
from necroscope.signals.thresholds import Thresholds

MOST_MARKS = 24
Times = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Changes:
    """Hosts by name, and when each changed: between two times; and those that did not."""

    changed: dict[str, tuple[int, int]]
    control: frozenset[str]
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """What was recorded of every host in every slice of the range, between the marks."""

    names: tuple[str, ...]
    marks: Times
    recorded_us: NDArray[np.int64]  # hosts x slices
    episodes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FactValue:
    """A value of a fact: `units/ecs.service/enabled` is `disabled`."""

    fact: str
    value: str

    def __str__(self) -> str:
        return f"{self.fact}={self.value}"


def changes_of_fact(
    tables: FleetTables, engine: Engine, wanted: FactValue, begin_us: int, end_us: int
) -> Changes:
    """Hosts that got a value in the range, and those that never had it."""
    spells = _spells(tables, engine, wanted, begin_us, end_us)
    changed: dict[str, tuple[int, int]] = {}
    control: set[str] = set()
    already = back = 0
    for host, (with_it, without) in spells.items():
        first = min((begin for begin, _ in with_it), default=None)
        if first is None:
            control.add(host)
        elif any(end > first for _, end in without):
            back += 1
        elif before := [end for _, end in without]:
            changed[host] = (max(before), first)
        else:
            already += 1
    notes = [f"{already:,} hosts had it from the beginning" if already else ""]
    notes.append(f"{back:,} hosts lost it again" if back else "")
    said = " and ".join(filter(None, notes))
    return Changes(changed, frozenset(control), f"{said}: they are left out" if said else "")


def recorded_hosts(tables: FleetTables, engine: Engine, begin_us: int, end_us: int) -> frozenset[str]:
    """All hosts that were recorded in the range."""
    gathering = Gathering("segments", ("host",), (("segments", "sum", "count(*)"),))
    return frozenset(map(str, engine.gather(tables, gathering, begin_us, end_us).column("host").to_pylist()))


def hosts_with(
    tables: FleetTables, engine: Engine, wanted: FactValue, begin_us: int, end_us: int
) -> tuple[frozenset[str], frozenset[str]]:
    """Hosts that had a value at any time of the range, and those that never had it."""
    spells = _spells(tables, engine, wanted, begin_us, end_us)
    having = frozenset(host for host, (with_it, _) in spells.items() if with_it)
    return having, frozenset(spells) - having


Spells = dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]]]]


def _spells(tables: FleetTables, engine: Engine, wanted: FactValue, begin_us: int, end_us: int) -> Spells:
    """Of every host whose facts are known: when it was seen with the value, and when without."""
    host_facts = gather_facts(tables, engine, [wanted.fact])
    column = host_facts.column(wanted.fact)
    columns = (("first_us", "min", "min(time_us)"), ("last_us", "max", "max(time_us)"))
    rows = engine.gather(
        tables, Gathering("facts", ("host", "facts"), columns, time="time_us"), begin_us, end_us
    )
    spells: Spells = {}
    if column is None:
        return spells
    code = column.values.index(wanted.value) if wanted.value in column.values else None
    ids = np.array([str(one) for one in rows.column("facts").to_pylist()], dtype=object)
    codes = np.where(
        (places := host_facts.places(ids)) == UNKNOWN, UNKNOWN, column.codes[places] if len(ids) else 0
    )
    seen = (rows.column(name).to_pylist() for name in ("host", "first_us", "last_us"))
    for host, first_us, last_us, its in zip(*seen, codes.tolist(), strict=True):
        if its != UNKNOWN:
            sides = spells.setdefault(str(host), ([], []))
            sides[0 if its == code else 1].append((first_us, last_us))
    return spells


def gather_slices(  # noqa: PLR0913, PLR0917 - what was asked, and of whom
    tables: FleetTables,
    engine: Engine,
    kinds: Sequence[str],
    changes: Changes,
    span: tuple[int, int],
    thresholds: Thresholds,
) -> Slices:
    """Cut the range at the changes."""
    marks = _marks(changes)
    edges = [span[0], *marks.tolist(), span[1]]
    columns = tuple(
        (
            f"slice_{n}",
            "sum",
            f"sum(CASE WHEN begin_us >= {a} AND begin_us < {b} THEN recorded_us ELSE 0 END)",
        )
        for n, (a, b) in enumerate(pairwise(edges))
    )
    rows = engine.gather(tables, Gathering("segments", ("host",), columns), *span)
    names = tuple(map(str, rows.column("host").to_pylist()))
    recorded = np.stack([rows.column(name).to_numpy() for name, _, _ in columns], axis=1).astype(np.int64)
    found = gather_episodes(tables, engine, kinds, span, thresholds)
    place = {name: number for number, name in enumerate(names)}
    host = np.array([place.get(name, UNKNOWN) for name in texts(found, "host")], dtype=np.int64)
    times = found.column("time_us").to_numpy().astype(np.int64)
    counts = np.zeros_like(recorded)
    known = host != UNKNOWN
    np.add.at(counts, (host[known], np.searchsorted(marks, times[known], side="right")), 1)
    return Slices(names, marks, recorded, counts)


def _marks(changes: Changes) -> Times:
    """Full hours around the changes; the moment itself where all changed at once."""
    times = sorted(set(changes.changed.values()))
    if len(times) == 1 and times[0][0] == times[0][1]:
        return np.array([times[0][0]], dtype=np.int64)
    around = {before // HOUR_US * HOUR_US for before, _ in times}
    around |= {-(-after // HOUR_US) * HOUR_US for _, after in times}
    marks = sorted(around)
    if len(marks) > MOST_MARKS:
        marks = [marks[round(n * (len(marks) - 1) / (MOST_MARKS - 1))] for n in range(MOST_MARKS)]
    return np.array(marks, dtype=np.int64)


def slices_before_and_after(marks: Times, change: tuple[int, int]) -> tuple[int, int]:
    """How many slices are before a change for sure, and from which on they are after it."""
    before = int(np.searchsorted(marks, change[0], side="right"))
    after = int(np.searchsorted(marks, change[1], side="left")) + 1
    return before, after


def in_turn(names: Sequence[str], changes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """For each host the change of another, all equally often; neighbours by name get unlike ones."""
    order = sorted(range(len(names)), key=lambda n: hashlib.sha256(names[n].encode()).digest())
    given = [(0, 0)] * len(names)
    for number, place in enumerate(order):
        given[place] = changes[number % len(changes)]
    return given
