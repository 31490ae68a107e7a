from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from necroscope.inventory.drift.compare import TOO_FEW
from necroscope.model.drift import Drift, Relevance
from necroscope.model.snapshot import Snapshot
from tests.inventory.drift.conftest import DriftOf

Sections = Mapping[str, Mapping[str, str]]


def host(name: str, **facts: Mapping[str, str]) -> Snapshot:
    return Snapshot(name, facts, {})


def leads(drift: Drift) -> list[str]:
    return [row.lead.fact for row in drift.differences]


def test_hosts_that_are_the_same(drift_of: DriftOf) -> None:
    drift = drift_of(host("a", kernel={"release": "6.1"}), host("b", kernel={"release": "6.1"}))
    assert drift.differences == ()
    assert drift.facts == 1


def test_known_first_and_facts_about_one_unit_together(drift_of: DriftOf) -> None:
    def units(state: str, enabled: str, digest: str) -> dict[str, str]:
        facts = {"runs": state, "enabled": enabled, "text": digest, "file": f"/lib/{digest}"}
        return {f"ecs.service/{name}": value for name, value in facts.items()}

    drift = drift_of(
        host("a", units=units("running", "enabled", "1"), environment={"ecs.service/X": "1"},
             kernel={"release": "6.1"}, site={"motto": "a"}, sysctls={"vm.swappiness": "60"}),
        host("b", units=units("stopped", "disabled", "2"), environment={"ecs.service/X": "2"},
             kernel={"release": "6.2"}, site={"motto": "b"}, sysctls={"vm.swappiness": "1"}),
    )  # fmt: skip
    assert leads(drift) == ["units/ecs.service/runs", "kernel/release", "sysctls/vm.swappiness", "site/motto"]
    assert sorted(fact.fact for fact in drift.differences[0].together) == [
        "environment/ecs.service/X",
        "units/ecs.service/enabled",
        "units/ecs.service/file",
        "units/ecs.service/text",
    ]
    assert [row.relevance for row in drift.differences] == [Relevance.KNOWN] * 3 + [Relevance.INCIDENTAL]
    assert drift.differences[1].summary == "kernel release is 6.1 on a and is 6.2 on b"
    assert drift.differences[0].lead.values == {"a": {"running": 1}, "b": {"stopped": 1}}


def test_versions_of_packages_are_one_row_unless_they_matter(drift_of: DriftOf) -> None:
    names = [f"lib{n}" for n in range(9)]
    drift = drift_of(
        host("a", packages={**dict.fromkeys(names, "1"), "containerd": "1.6", "gone": "1"}),
        host("b", packages={**dict.fromkeys(names, "2"), "containerd": "1.7"}),
    )
    assert leads(drift) == ["packages/containerd", "packages/gone", "packages"]
    assert drift.differences[2].summary == (
        "9 packages differ in their version only: lib0, lib1, lib2, lib3, lib4 and 4 more"
    )
    assert len(drift.differences[2].together) == 9
    assert drift.differences[1].summary == "package gone has version 1 on a and is not installed on b"


def test_the_odd_one_out_is_named(drift_of: DriftOf) -> None:
    hosts = [host(f"h{n}", sysctls={"net.core.x": "2" if n == 3 else "1"}) for n in range(5)]
    assert drift_of(*hosts).differences[0].summary == (
        "sysctl net.core.x is 2 on h3 only, and is 1 on the other 4 hosts"
    )


def few(drift_of: DriftOf, healthy: int, failing: int) -> Drift:
    return drift_of(
        healthy=[
            host(f"h{n}", units={"ecs.service/runs": "stopped"}, site={"x": "1"}) for n in range(healthy)
        ],
        failing=[
            host(f"f{n}", units={"ecs.service/runs": "running"}, site={"x": "2"}) for n in range(failing)
        ],
    )


@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (1, 40)])
def test_too_few_hosts_are_never_called_significant(drift_of: DriftOf, sizes: tuple[int, int]) -> None:
    drift = few(drift_of, *sizes)
    assert drift.note == TOO_FEW
    assert leads(drift) == ["units/ecs.service/runs", "site/x"]
    assert [row.relevance for row in drift.differences] == [Relevance.KNOWN, Relevance.INCIDENTAL]
    assert all(row.association and row.association.p > 0.02 for row in drift.differences)


def test_enough_hosts_fold_what_splits_them_in_the_same_way(drift_of: DriftOf) -> None:
    drift = few(drift_of, 8, 8)
    (row,) = drift.differences
    assert row.lead.fact == "units/ecs.service/runs"
    assert row.same_split == row.cannot_tell_apart_from == ("site/x",)
    assert row.summary == (
        "ecs.service runs in the failing group and not in the healthy one; "
        "it cannot be told apart from site/x"
    )
    assert row.association and row.association.q and row.association.q < 0.001
    assert row.association.odds_ratio > 10


def test_known_but_as_common_in_both_groups_does_not_matter(drift_of: DriftOf) -> None:
    def some(name: str) -> list[Snapshot]:
        return [host(f"{name}{n}", kernel={"release": f"6.{n % 2}"}) for n in range(20)]

    drift = drift_of(healthy=some("h"), failing=some("f"))
    assert [(row.matters, row.relevance) for row in drift.differences] == [(False, Relevance.INCIDENTAL)]


@pytest.mark.parametrize("in_rest, matters", [(0, True), (60, False)])
def test_three_failing_hosts_can_be_counted(drift_of: DriftOf, in_rest: int, matters: bool) -> None:
    """What is known, too, is no alarm because three hosts happen to have what others have as well."""
    drift = drift_of(
        healthy=[host(f"h{n}", kernel={"release": "6.2" if n < in_rest else "6.1"}) for n in range(190)],
        failing=[host(f"f{n}", kernel={"release": "6.2"}) for n in range(3)],
    )
    assert [row.matters for row in drift.differences] == [matters]


def test_two_hosts_that_can_tell_are_no_group(drift_of: DriftOf) -> None:
    def some(name: str, release: str) -> list[Snapshot]:
        blind = [Snapshot(f"{name}{n}", {}, {"kernel": "not permitted"}) for n in range(19)]
        return [host(name, kernel={"release": release}), *blind]

    (row,) = drift_of(healthy=some("h", "6.1"), failing=some("f", "6.2")).differences
    assert not row.matters


def test_what_is_known_and_all_of_a_group_matters_among_whatever_else(drift_of: DriftOf) -> None:
    """Five hosts against five are too few for a count among forty other differences."""

    def some(name: str, state: str) -> list[Snapshot]:
        noise = random.Random(name)
        return [
            host(
                f"{name}{n}",
                units={"ecs.service/runs": state},
                site={f"x{k}": noise.choice("ab") for k in range(40)},
            )
            for n in range(5)
        ]

    drift = drift_of(healthy=some("h", "stopped"), failing=some("f", "running"))
    assert [row.lead.fact for row in drift.differences if row.matters] == ["units/ecs.service/runs"]


def test_packages_with_a_pair_or_a_low_p_are_told_alone(drift_of: DriftOf) -> None:
    def some(name: str, often: int) -> list[Snapshot]:
        def packages(n: int) -> dict[str, str]:
            twins = dict.fromkeys(("one", "twin"), str(n % 3 == 0))
            noise = {f"lib{k}": str(n // (k + 1) % 2) for k in range(5)}
            return {**twins, **noise, "weak": str(n < often)}

        return [host(f"{name}{n}", packages=packages(n)) for n in range(40)]

    drift = drift_of(healthy=some("h", 10), failing=some("f", 21))
    rows = {row.lead.fact: row for row in drift.differences}
    assert rows["packages/one"].same_split == ("packages/twin",)
    assert not rows["packages/weak"].matters
    assert rows["packages"].summary.startswith("5 packages differ in their version only")


def test_a_group_that_cannot_tell_is_not_compared(drift_of: DriftOf) -> None:
    drift = drift_of(
        healthy=[Snapshot(f"h{n}", {}, {"units": "not running"}) for n in range(8)],
        failing=[host(f"f{n}", units={"ecs.service/runs": ["running", "stopped"][n % 2]}) for n in range(8)],
    )
    assert drift.differences == ()
    assert drift.not_compared[0].section == "units"
    assert len(drift.not_compared[0].hosts) == 8


def test_of_three_groups_the_symptom_is_compared_with_all_others(drift_of: DriftOf) -> None:
    def some(name: str, value: str) -> list[Snapshot]:
        return [host(f"{name}{n}", site={"x": value}) for n in range(6)]

    drift = drift_of(a=some("a", "1"), b=some("b", "1"), failing=some("f", "2"))
    (row,) = drift.differences
    assert row.summary == "site x is 2 in the failing group and is 1 in the a and b groups"
    assert row.lead.values == {"a": {"1": 6}, "b": {"1": 6}, "failing": {"2": 6}}


def test_one_value_of_many_is_found(drift_of: DriftOf) -> None:
    def some(name: str, values: str) -> list[Snapshot]:
        return [host(f"{name}{n}", labels={"zone": values[n % len(values)]}) for n in range(60)]

    drift = drift_of(healthy=some("h", "abcdef"), failing=some("f", "cccdef"))
    row = drift.differences[0]
    assert row.matters
    assert row.summary.startswith("label zone is c on 30 of 60 hosts of the failing group and on 10 of 60")


def test_values_may_be_anything(drift_of: DriftOf) -> None:
    odd = {"x\ny": "\x00" * 1000, "": "", "a/b/c": "é" * 500}
    drift = drift_of(
        Snapshot("a", {"": odd, "units": {"/": "", "x": "y", "runs": "running"}}, {}),
        Snapshot("b", {"": {"": "1"}, "units": {"x": "z"}}, {}),
    )
    assert len(drift.differences) == 6
    assert all(row.summary for row in drift.differences)


def test_of_two_that_cannot_be_told_apart_the_known_one_leads(drift_of: DriftOf) -> None:
    def some(name: str, runs: int, value: str) -> list[Snapshot]:
        return [
            host(
                f"{name}{n}",
                units={"ecs.service/runs": "running" if n < runs else "stopped"},
                site={"x": value},
            )
            for n in range(7)
        ]

    drift = drift_of(healthy=some("h", 0, "1"), failing=some("f", 6, "2"))
    assert leads(drift) == ["units/ecs.service/runs", "site/x"]
    assert drift.differences[0].cannot_tell_apart_from == ("site/x",)
    assert drift.differences[1].matters
