from __future__ import annotations

import random
from itertools import permutations

from necroscope.inventory.drift.fact_table import NO_SECTION, FactTable, VaryingFact
from necroscope.model.snapshot import Snapshot


def table_of(*snapshots: Snapshot) -> FactTable:
    table = FactTable()
    for snapshot in snapshots:
        table.add(snapshot, snapshot.host)
    return table


def by_names(table: FactTable) -> dict[str, dict[str | None, tuple[str, ...]]]:
    return {
        fact.id: {value: table.names(hosts) for value, hosts in fact.values.items()}
        for fact in table.varying()
    }


def test_only_what_differs() -> None:
    table = table_of(
        Snapshot("a", {"kernel": {"release": "6.1", "tainted": "0"}}, {}),
        Snapshot("b", {"kernel": {"release": "6.1", "tainted": "1"}}, {}),
        Snapshot("c", {"kernel": {"release": "6.1", "lockdown": "none"}}, {}),
    )
    assert by_names(table) == {
        "kernel/lockdown": {"none": ("c",), None: ("a", "b")},
        "kernel/tainted": {"0": ("a",), "1": ("b",), None: ("c",)},
    }
    assert table.count_facts() == 3


def test_what_was_not_read_is_not_a_difference() -> None:
    table = table_of(
        Snapshot("a", {"units": {"x.service/runs": "running"}}, {}),
        Snapshot("b", {}, {"units": "no systemd answers"}),
        Snapshot("c", {"units": {}}, {"units": "no systemd answers"}),
    )
    assert by_names(table) == {}
    assert [(row.section, row.hosts, row.reason) for row in table.not_compared()] == [
        ("units", ("b", "c"), "no systemd answers")
    ]


def test_of_a_section_that_was_read_in_part_only_what_is_there_counts() -> None:
    table = table_of(
        Snapshot("a", {"sysctls": {"x": "1", "y": "1"}}, {}),
        Snapshot("b", {"sysctls": {"x": "2"}}, {"sysctls": "not permitted: y"}),
        Snapshot("c", {"sysctls": {"x": "1"}}, {}),
    )
    assert by_names(table) == {
        "sysctls/x": {"1": ("a", "c"), "2": ("b",)},
        "sysctls/y": {"1": ("a",), None: ("c",)},
    }


def test_a_section_that_is_not_mentioned_was_not_read_if_hosts_share_a_fact_of_it() -> None:
    """In whatever order the hosts come."""
    some = [
        Snapshot("a", {"kubelet": {"driver": "systemd", "x": "1"}}, {}),
        Snapshot("b", {"kubelet": {"driver": "systemd"}}, {}),
        Snapshot("c", {"site": {}}, {}),
    ]
    for snapshots in permutations(some):
        table = table_of(*snapshots)
        assert set(by_names(table)) == {"kubelet/x"}
        assert sorted(by_names(table)["kubelet/x"][None]) == ["b"]
        assert ("kubelet", ("c",), NO_SECTION) in [
            (row.section, row.hosts, row.reason) for row in table.not_compared()
        ]


def test_a_section_whose_facts_come_and_go_may_be_empty() -> None:
    table = table_of(
        Snapshot("a", {"bootstrap": {"one": "failed"}}, {}),
        Snapshot("b", {"bootstrap": {"two": "failed"}}, {}),
        Snapshot("c", {}, {}),
    )
    assert by_names(table) == {
        "bootstrap/one": {"failed": ("a",), None: ("b", "c")},
        "bootstrap/two": {"failed": ("b",), None: ("a", "c")},
    }


def test_a_section_of_a_single_fact_may_be_empty() -> None:
    table = table_of(
        Snapshot("a", {}, {}),
        Snapshot("b", {"site": {"x": "1"}}, {}),
        Snapshot("c", {"site": {"x": "1"}}, {}),
    )
    assert by_names(table) == {"site/x": {"1": ("b", "c"), None: ("a",)}}


def test_values_that_are_the_same_everywhere_can_be_asked_for() -> None:
    table = table_of(
        Snapshot("a", {"units": {"x.service/needs": "docker.service"}}, {}),
        Snapshot("b", {"units": {"x.service/needs": "docker.service"}}, {}),
    )
    assert table.values("units", "x.service/needs") == ("docker.service",)
    assert table.values("units", "y.service/needs") == ()
    assert list(table.texts("units", "x.service/")) == ["docker.service"]


def test_equal_to_the_plain_way_on_random_hosts() -> None:
    chance = random.Random(1)
    for _ in range(50):
        snapshots = [
            Snapshot(
                f"h{n}",
                {
                    section: {name: chance.choice("12") for name in "abc" if chance.random() < 0.7}
                    for section in ("s", "t")
                },
                {"t": "because"} if chance.random() < 0.3 else {},
            )
            for n in range(6)
        ]
        assert list(table_of(*snapshots).varying()) == plain(snapshots)


def plain(snapshots: list[Snapshot]) -> list[VaryingFact]:
    found = []
    for section in ("s", "t"):
        for name in "abc":
            values: dict[str | None, int] = {}
            for place, snapshot in enumerate(snapshots):
                value = snapshot.facts.get(section, {}).get(name)
                if value is not None or section not in snapshot.not_read:
                    values[value] = values.get(value, 0) | 1 << place
            known = sum(values.values())
            if len(values) > 1:
                found.append(VaryingFact(section, name, values, known))
    return found
