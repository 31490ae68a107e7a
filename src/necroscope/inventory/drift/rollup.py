"""Incidental differences that say little one by one, rolled up into one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from necroscope.inventory.drift.fold_facts import Row
from necroscope.inventory.drift.host_sets import Groups
from necroscope.inventory.drift.ranking import relevance_of
from necroscope.inventory.drift.splits import Candidate
from necroscope.inventory.drift.subjects import RESTS, is_run_state, kind_of, unit_of
from necroscope.model.drift import Relevance

FEWEST = 3
# What is less likely by chance is worth a row of its own, though it is not called associated.
P_ALONE, MOST_ALONE = 0.05, 20
MOST_LISTED = 5


@dataclass(frozen=True, slots=True)
class Rollup:
    """Rows that say little one by one."""

    id: str  # stands for the fact
    sentence: str
    rows: tuple[Row, ...]


def find_rollups(rows: Sequence[Row], groups: Groups) -> Iterator[Rollup]:
    """Packages of which only the version differs; units that run nowhere, each for another reason."""
    plain = [
        row
        for row in rows
        if relevance_of(row) is Relevance.INCIDENTAL and not (row.follows or row.alike or row.cause_of)
    ]
    if groups.can_count:
        alone = [row for row in plain if _p(row) <= P_ALONE][:MOST_ALONE]
        plain = [row for row in plain if row not in alone and not row.same_split]
    for id, what, belongs, name in KINDS:
        found = tuple(row for row in plain if all(belongs(one) for one in row.members))
        if len(found) >= FEWEST:
            names = sorted({name(one) for row in found for one in row.members})
            more = len(names) - MOST_LISTED
            listed = ", ".join(names[:MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")
            yield Rollup(id, f"{len(names):,} {what}: {listed}", found)


def _p(row: Row) -> float:
    return row.lead.p if row.p_among_alike is None else min(row.lead.p, row.p_among_alike)


def _is_only_version(one: Candidate) -> bool:
    return one.fact.section == "packages" and None not in one.fact.values


def _rests_everywhere(one: Candidate) -> bool:
    return is_run_state(one.fact) and {kind_of(value) for value in one.fact.values} == {RESTS}


KINDS: tuple[tuple[str, str, Callable[[Candidate], bool], Callable[[Candidate], str]], ...] = (
    ("packages", "packages differ in their version only", _is_only_version, lambda one: one.fact.name),
    ("units", "units run on no host, for other reasons", _rests_everywhere, lambda one: unit_of(one.fact)),
)
