"""Which differences explain failing hosts, from the tables of small fleets: as from their snapshots."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.fleet.engine.engine import LocalEngine
from necroscope.fleet.questions.drift import ask_drift, conclude_drift
from necroscope.fleet.questions.drift_facts import FactOfGroup
from necroscope.fleet.questions.drift_hosts import gather_hosts
from necroscope.fleet.ship.facts import NOTHING, PARTLY
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.inventory.drift.compare import compare
from necroscope.inventory.drift.fact_table import FactTable
from necroscope.inventory.drift.host_sets import Groups
from necroscope.model.drift import Drift
from necroscope.model.snapshot import Snapshot
from tests.fleet.questions.hosts_of_facts import BEGIN_US, END_US, HOURS, MadeHost, write_hosts

MINUTE_US = 60 * 10**6
NIC_RESET = ("nic-reset",)


def make_hosts(count: int = 60, seed: int = 1) -> list[MadeHost]:
    """A third has the unit that makes hosts fail; zones and packages do not matter."""
    rng = random.Random(seed)
    hosts = []
    for number in range(count):
        has_unit, zone = number % 3 == 0, rng.choice(["a", "b", "c"])
        units = {"kubelet.service/runs": "running"}
        if has_unit:
            units["ecs.service/runs"] = "crash-looping"
        facts = {
            "labels": {"zone": zone, "instance_type": rng.choice(["small", "large"])},
            "identity": {"address": f"10.0.0.{number}"},
            "units": units,
            "sysctls": {"vm.swappiness": rng.choice(["10", "60"]), "kernel.pid_max": "4194304"},
        }
        is_sick = rng.random() < (0.8 if has_unit else 0.05)
        hosts.append(MadeHost(f"node-{number:02}", facts, [7 * MINUTE_US, 90 * MINUTE_US] if is_sick else ()))
    return hosts


def asked(tables: FleetTables, failing: frozenset[str] | FactOfGroup | None = None) -> Drift:
    hosts = gather_hosts(tables, LocalEngine(), NIC_RESET, BEGIN_US, END_US)
    return conclude_drift(tables, hosts, NIC_RESET, failing)


def test_the_cause_comes_first_and_the_answer_is_that_of_snapshots(tmp_path: Path) -> None:
    hosts = make_hosts()
    drift = ask_drift(write_hosts(tmp_path, hosts), LocalEngine(), NIC_RESET, BEGIN_US, END_US)
    first = drift.differences[0]
    assert first.lead.fact == "units/ecs.service/runs"
    assert first.matters
    table = FactTable()
    for host in hosts:
        table.add(Snapshot(host.name, host.facts, {}), host.name)
    failing = sum(1 << place for place, host in enumerate(hosts) if host.events_us)
    groups = Groups({"failing": failing, "healthy": ((1 << len(hosts)) - 1) & ~failing}, "failing")
    assert drift == compare(table, groups)


def test_who_a_host_is_explains_nothing(tmp_path: Path) -> None:
    drift = asked(write_hosts(tmp_path, make_hosts()))
    assert not [one for one in drift.differences if one.lead.fact.startswith("identity/")]
    assert drift.facts == 6


def test_nothing_planted(tmp_path: Path) -> None:
    rng = random.Random(2)
    hosts = [
        replace(host, events_us=[5 * MINUTE_US] if rng.random() < 0.3 else ()) for host in make_hosts(90, 3)
    ]
    assert not [one for one in asked(write_hosts(tmp_path, hosts)).differences if one.matters]


def test_a_host_counts_with_the_facts_that_it_had(tmp_path: Path) -> None:
    """Those that failed were changed afterwards: what they are now says nothing about why."""
    hosts = []
    for number in range(40):
        old, new = ({"kernel": {"release": release}} for release in ("5.4", "6.1"))
        is_old = number % 2 == 0
        events = [10 * MINUTE_US] if is_old else ()
        hosts.append(MadeHost(f"node-{number:02}", new, events, facts_before=old if is_old else new))
    (first, *_) = asked(write_hosts(tmp_path, hosts)).differences
    assert first.lead.values == {"failing": {"5.4": 20}, "healthy": {"6.1": 20}}


def test_a_host_that_was_hardly_recorded_is_not_healthy(tmp_path: Path) -> None:
    hosts = [replace(host, hours=1) if number < 6 else host for number, host in enumerate(make_hosts())]
    left_out = [host for host in hosts[:6] if not host.events_us]
    drift = asked(write_hosts(tmp_path, hosts))
    assert sum(map(len, drift.groups.values())) == 60 - len(left_out)
    assert drift.note.startswith(f"{len(left_out)} hosts without an event recorded too little")


def test_events_of_other_kinds_and_times_do_not_count(tmp_path: Path) -> None:
    hosts = make_hosts()
    hosts[1] = replace(hosts[1], events_us=[MINUTE_US], kind="oom-kill")
    hosts[2] = replace(hosts[2], events_us=[(HOURS + 1) * 60 * MINUTE_US])
    healthy = asked(write_hosts(tmp_path, hosts)).groups["healthy"]
    assert {"node-01", "node-02"} <= set(healthy)


def test_facts_that_only_the_hourly_table_knows(tmp_path: Path) -> None:
    hosts = [replace(host, is_told=False) for host in make_hosts()]
    drift = asked(write_hosts(tmp_path, hosts))
    assert drift.differences[0].lead.fact == "units/ecs.service/runs"
    assert drift.note == ""


def test_hosts_without_facts_are_said(tmp_path: Path) -> None:
    hosts = make_hosts()
    hosts[5] = replace(hosts[5], facts={}, is_told=False)
    drift = asked(write_hosts(tmp_path, hosts))
    assert sum(map(len, drift.groups.values())) == 59
    assert drift.note == "the facts of 1 host are not known"


def test_what_was_not_read_is_not_compared(tmp_path: Path) -> None:
    """A metadata service that did not answer takes the zone of the failing hosts: that is no difference."""
    hosts = []
    for number in range(40):
        labels = {"pool": "x"} | ({"zone": "a"} if number % 2 else {})
        facts = {
            "labels": labels,
            "kernel": {"release": "6.1"},
            "cpu": {"model": "m", "smt": str(number % 2)},
        }
        if number % 2 == 0:
            del facts["cpu"]
            facts["not_read"] = {"labels": PARTLY, "cpu": NOTHING}
        hosts.append(MadeHost(f"node-{number:02}", facts, [MINUTE_US] if number % 2 == 0 else ()))
    drift = asked(write_hosts(tmp_path, hosts))
    assert drift.differences == ()
    assert {(row.section, len(row.hosts), row.reason) for row in drift.not_compared} == {
        ("labels", 20, PARTLY),
        ("cpu", 20, NOTHING),
    }


def test_failing_by_name(tmp_path: Path) -> None:
    tables = write_hosts(tmp_path, [replace(host, events_us=()) for host in make_hosts()])
    drift = asked(tables, frozenset(f"node-{number:02}" for number in range(0, 60, 3)))
    assert drift.differences[0].lead.fact == "units/ecs.service/runs"
    assert len(drift.groups["healthy"]) == 40


def test_failing_by_a_fact_which_then_explains_nothing(tmp_path: Path) -> None:
    drift = asked(
        write_hosts(tmp_path, make_hosts()), FactOfGroup("units", "ecs.service/runs", "crash-looping")
    )
    assert len(drift.groups["failing"]) == 20
    assert not [one for one in drift.differences if "ecs.service" in one.lead.fact]
    assert asked(write_hosts(tmp_path, make_hosts()), FactOfGroup("labels", "zone", "z")).note.startswith(
        "nothing to explain: no host whose facts are known is one of the failing ones"
    )


@pytest.mark.parametrize(
    ("hosts", "why"),
    [
        ([replace(host, events_us=()) for host in make_hosts()], "nothing to explain: no host"),
        ([replace(host, events_us=[MINUTE_US]) for host in make_hosts()], "nothing to compare with"),
        ([], "nothing to explain"),
    ],
    ids=["none fails", "all fail", "nobody"],
)
def test_nothing_to_compare(tmp_path: Path, hosts: list[MadeHost], why: str) -> None:
    drift = asked(write_hosts(tmp_path, hosts))
    assert drift.differences == ()
    assert drift.note.startswith(why)
