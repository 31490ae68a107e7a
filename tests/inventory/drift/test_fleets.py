"""Sixty fleets of each kind: causes on top, pairs named as such, and no alarm where there is no cause.

The numbers asked for are a little below those that were measured. With 200 hosts and odds ratios of 4, the
weakest of three causes is often no stronger than the luckiest of forty others; there it takes 500 hosts.
"""

from __future__ import annotations

import random

import pytest

from lab.snapshots import Fleet, Plan, make_fleet
from necroscope.model.drift import Difference
from necroscope.model.snapshot import Snapshot
from tests.inventory.drift.conftest import DriftOf

SEEDS = range(1000, 1060)


def own(row: Difference) -> set[str]:
    return {row.lead.fact, *row.same_split}


def are_causes_on_top(fleet: Fleet, rows: tuple[Difference, ...]) -> bool:
    """In the first rows, one for each cause; or in what cannot be told apart from them."""
    top = rows[: len(fleet.causes)]
    return {*fleet.causes} <= {fact for row in top for fact in (*own(row), *row.cannot_tell_apart_from)}


def is_pair_named(fleet: Fleet, rows: tuple[Difference, ...]) -> bool:
    ((one, other),) = fleet.pairs
    return any(
        (one in own(row) and other in row.cannot_tell_apart_from)
        or (other in own(row) and one in (*row.cannot_tell_apart_from, *row.explained_by))
        for row in rows
    )


@pytest.mark.parametrize(
    "plan, tops, named",
    [
        (Plan(pair="same"), 55, 60),
        (Plan(pair="nearly"), 55, 55),
        (Plan(pair="bystanders"), 55, 60),
        (Plan(pair="near bystanders"), 55, 57),
        (Plan(pair="packages"), 55, 60),
        (Plan(pair="image"), 55, 60),
        (Plan(pair="image of a cause"), 50, 57),
        (Plan(hosts=500, odds_ratio=4, risk=(0.15, 0), pair="nearly"), 55, 55),
    ],
    ids=lambda value: value.pair if isinstance(value, Plan) else None,
)
def test_causes_on_top_and_the_pair_named(drift_of: DriftOf, plan: Plan, tops: int, named: int) -> None:
    fleets = [(fleet, drift_of(**fleet.snapshots)) for fleet in (make_fleet(seed, plan) for seed in SEEDS)]
    assert sum(are_causes_on_top(fleet, drift.differences) for fleet, drift in fleets) >= tops
    assert sum(is_pair_named(fleet, drift.differences) for fleet, drift in fleets) >= named


def test_what_follows_a_cause_is_hardly_ever_taken_for_one(drift_of: DriftOf) -> None:
    taken = 0
    for seed in SEEDS:
        fleet = make_fleet(seed, Plan(pair="follows"))
        ((cause, follower),) = fleet.pairs
        for row in drift_of(**fleet.snapshots).differences:
            taken += follower in own(row) and row.matters and cause not in row.cannot_tell_apart_from
    assert taken <= 4


@pytest.mark.parametrize("causal, failing, tops", [(3, 180, 38), (2, 20, 50)])
def test_causes_on_top_where_one_group_is_small(
    drift_of: DriftOf, causal: int, failing: int, tops: int
) -> None:
    """With twenty hosts in a group, three causes are mostly too much; a regression does no better."""
    fleets = [make_fleet(seed, Plan(causal=causal, pair="none", failing=failing)) for seed in SEEDS]
    found = sum(are_causes_on_top(fleet, drift_of(**fleet.snapshots).differences) for fleet in fleets)
    assert found >= tops


@pytest.mark.parametrize("failing", [100, 20, 5, 3])
def test_without_a_cause_there_is_hardly_an_alarm(drift_of: DriftOf, failing: int) -> None:
    plan = Plan(causal=0, incidental=43, risk=(0.5, 0.5), pair="none", failing=failing)
    alarms = 0
    for seed in SEEDS:
        alarms += any(row.matters for row in drift_of(**make_fleet(seed, plan).snapshots).differences)
    assert alarms <= 3


def test_independent_differences_are_not_called_pairs(drift_of: DriftOf) -> None:
    """Of two hundred hosts; those that come with the zone or the instance type are alike for a reason."""
    chance = random.Random(3)
    groups = {
        name: [
            Snapshot(f"{name}{n}", {"site": {f"x{k}": chance.choice("ab") for k in range(40)}}, {})
            for n in range(100)
        ]
        for name in ("healthy", "failing")
    }
    assert [row.cannot_tell_apart_from for row in drift_of(**groups).differences] == [()] * 40
