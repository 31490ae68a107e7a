"""What only follows another difference is not a cause; what nobody can tell apart is said to be so."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lab.snapshots import Plan, make_fleet
from necroscope.model.drift import Drift, Relevance
from necroscope.model.snapshot import Snapshot
from necroscope.statistics.fisher import Table, odds_ratio
from necroscope.statistics.mantel_haenszel import mantel_haenszel, stratum_of
from tests.inventory.drift.conftest import DriftOf

# Instance type, whether irqbalance runs, group -> hosts.
IRQBALANCE = {
    ("big", "running", "failing"): 40,
    ("big", "stopped", "failing"): 13,
    ("big", "running", "healthy"): 25,
    ("big", "stopped", "healthy"): 5,
    ("small", "running", "failing"): 2,
    ("small", "stopped", "failing"): 12,
    ("small", "running", "healthy"): 12,
    ("small", "stopped", "healthy"): 55,
}


def table(counts: Mapping[tuple[str, str, str], int], kind: str) -> Table:
    return Table(
        counts[kind, "running", "failing"],
        counts[kind, "stopped", "failing"],
        counts[kind, "running", "healthy"],
        counts[kind, "stopped", "healthy"],
    )


def fleet(counts: Mapping[tuple[str, str, str], int]) -> dict[str, list[Snapshot]]:
    groups: dict[str, list[Snapshot]] = {"healthy": [], "failing": []}
    for (kind, state, group), hosts in counts.items():
        for _ in range(hosts):
            facts = {"labels": {"instance_type": kind}, "units": {"irqbalance.service/runs": state}}
            groups[group].append(Snapshot(f"{group}-{len(groups[group])}", facts, {}))
    return groups


def row_of(drift: Drift, fact: str) -> int:
    return [row.lead.fact for row in drift.differences].index(fact)


def test_irqbalance_only_follows_the_instance_type(drift_of: DriftOf) -> None:
    big, small = table(IRQBALANCE, "big"), table(IRQBALANCE, "small")
    together = Table(*(getattr(big, name) + getattr(small, name) for name in Table.__slots__))
    assert odds_ratio(together)[0] == pytest.approx(2.7, abs=0.2)
    assert mantel_haenszel(map(stratum_of, (big, small))).excess < 0, (
        "among hosts alike it is the other way round"
    )

    drift = drift_of(**fleet(IRQBALANCE))
    first, second = drift.differences
    assert first.lead.fact == "labels/instance_type"
    assert second.lead.fact == "units/irqbalance.service/runs"
    assert second.explained_by == ("labels/instance_type",)
    assert second.relevance is Relevance.INCIDENTAL and not second.matters
    assert second.why.startswith("follows labels/instance_type")


def two(drift_of: DriftOf, odd: int) -> Drift:
    """A cause x, and y that is the same on all but some of 200 hosts, evenly in both groups."""
    groups: dict[str, list[Snapshot]] = {"healthy": [], "failing": []}
    for n in range(200):
        group = "failing" if n % 2 else "healthy"
        has_x = n // 2 % 10 < (8 if group == "failing" else 2)
        has_y = has_x != (n < 2 * odd)
        facts = {"site": {"x": str(has_x), "y": str(has_y)}}
        groups[group].append(Snapshot(f"n{n}", facts, {}))
    return drift_of(**groups)


def test_a_few_odd_hosts_cannot_tell_two_apart(drift_of: DriftOf) -> None:
    drift = two(drift_of, odd=3)
    one, other = drift.differences
    assert {one.lead.fact, other.lead.fact} == {"site/x", "site/y"}
    assert one.cannot_tell_apart_from == (other.lead.fact,)
    assert other.cannot_tell_apart_from == (one.lead.fact,)
    assert one.matters and other.matters


def test_many_odd_hosts_tell_who_follows(drift_of: DriftOf) -> None:
    drift = two(drift_of, odd=30)
    one, other = drift.differences
    assert (one.lead.fact, one.matters) == ("site/x", True)
    assert (other.lead.fact, other.matters) == ("site/y", False)
    assert other.explained_by == ("site/x",)


def test_two_causes_are_both_kept(drift_of: DriftOf) -> None:
    groups: dict[str, list[Snapshot]] = {"healthy": [], "failing": []}
    for n in range(240):
        has = {"x": n % 2, "y": n // 2 % 2}
        group = "failing" if n // 4 % 10 < 1 + 4 * sum(has.values()) else "healthy"
        facts = {"site": {name: str(value) for name, value in has.items()}}
        groups[group].append(Snapshot(f"n{n}", facts, {}))
    drift = drift_of(**groups)
    assert [(row.lead.fact, row.matters, row.explained_by) for row in drift.differences] == [
        ("site/x", True, ()),
        ("site/y", True, ()),
    ]


def test_a_label_that_is_another_on_every_host_explains_nothing(drift_of: DriftOf) -> None:
    groups: dict[str, list[Snapshot]] = {"healthy": [], "failing": []}
    for n in range(100):
        group = "failing" if n % 2 else "healthy"
        facts = {"site": {"x": str(n % 2)}, "labels": {"instance_id": f"i-{n}"}}
        groups[group].append(Snapshot(f"n{n}", facts, {}))
    assert drift_of(**groups).differences[0].explained_by == ()


def image(drift_of: DriftOf, risk_in_tenths: str) -> Drift:
    """Four images, each with its risk; the first two have another kernel than the others."""
    groups: dict[str, list[Snapshot]] = {"healthy": [], "failing": []}
    for n in range(200):
        kind = n % 4
        group = "failing" if n // 4 % 10 < int(risk_in_tenths[kind]) else "healthy"
        facts = {"site": {"kernel": str(kind < 2)}, "labels": {"image": f"ami-{kind}"}}
        groups[group].append(Snapshot(f"n{n}", facts, {}))
    return drift_of(**groups)


@pytest.mark.parametrize("risk_in_tenths", ["7722", "4444"], ids=["cause", "no-cause"])
def test_what_an_image_decides_cannot_be_told_apart_from_it(drift_of: DriftOf, risk_in_tenths: str) -> None:
    rows = image(drift_of, risk_in_tenths).differences
    assert {row.lead.fact: row.cannot_tell_apart_from for row in rows} == {
        "site/kernel": ("labels/image",),
        "labels/image": ("site/kernel",),
    }
    assert {row.matters for row in rows} == {risk_in_tenths == "7722"}


def test_an_image_that_shows_beyond_what_it_decides_is_the_one(drift_of: DriftOf) -> None:
    first, second = image(drift_of, "9222").differences
    assert (first.lead.fact, first.cannot_tell_apart_from) == ("labels/image", ())
    assert second.explained_by == ("labels/image",)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])  # which keeps nothing
def test_what_follows_is_alike_to_nobody(drift_of: DriftOf, seed: int) -> None:
    rows = drift_of(**make_fleet(seed, Plan(pair="nearly")).snapshots).differences
    alike = {row.lead.fact: {*row.cannot_tell_apart_from} - {*row.same_split} for row in rows}
    followers = {row.lead.fact for row in rows if row.explained_by}
    assert not any(alike[fact] for fact in followers)
    assert not any(others & followers for others in alike.values())


def test_one_of_hundreds_of_racks_is_no_second_cause(drift_of: DriftOf) -> None:
    """Among hosts alike in the cause the best of all racks looks good; it is the best of many, and small."""
    alarms = 0
    for seed in range(20):
        rng = random.Random(seed)
        groups: dict[str, list[Snapshot]] = {"healthy": [], "failing": []}
        for number in range(2000):
            kernel, rack = rng.choice(["old", *["new"] * 5]), f"rack-{rng.randrange(330)}"
            facts = {"kernel": {"release": kernel}, "labels": {"rack": rack, "row": rack[-1]}}
            is_sick = rng.random() < (0.2 if kernel == "old" else 0.03)
            groups["failing" if is_sick else "healthy"].append(Snapshot(f"n{number}", facts, {}))
        matter = [row.lead.fact for row in drift_of(**groups).differences if row.matters]
        assert matter[0] == "kernel/release"
        alarms += len(matter) > 1
    assert alarms <= 2  # measured: 3 of 60; without allowing for how many racks there are, 41
