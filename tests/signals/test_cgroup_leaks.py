"""The event `cgroup-leak`: at most one a minute of each owner."""

from __future__ import annotations

from necroscope.model.event import FREQUENT_KINDS, Event
from necroscope.model.reading import Absence, Reading
from necroscope.signals.cgroup_leaks import CgroupLeaks
from necroscope.signals.thresholds import load_thresholds
from necroscope.signals.watch import Watch
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER
from tests.findings.test_memory_cgroup_leak import ECS, group, ledger
from tests.stored import moment_of


def leaks() -> CgroupLeaks:
    return CgroupLeaks(load_thresholds(None))


def see(leaks: CgroupLeaks, second: float, *zombies: int) -> list[Event]:
    patterns = (ECS, "/docker/#")
    groups = [group(pattern, 50, count, "runc") for pattern, count in zip(patterns, zombies, strict=False)]
    return list(leaks.look(moment_of(second, {CGROUP_LEDGER: ledger(*groups)})))


def test_told_at_once_and_then_once_a_minute() -> None:
    one = leaks()
    assert see(one, 0, 0) == []
    (event,) = see(one, 5, 4)
    assert (event.kind, event.unit, event.process, event.reason) == (
        "cgroup-leak",
        "ecs.service",
        "runc",
        ECS,
    )
    assert event.text == "4 memory cgroups of ecs.service were removed and not freed; 4 zombies of it in all"
    assert [see(one, second, 4 + second) for second in range(10, 65, 5)] == [[]] * 11
    (later,) = see(one, 65, 30)
    assert later.text.startswith("26 memory cgroups")
    assert event.kind in FREQUENT_KINDS


def test_owners_are_counted_apart() -> None:
    one = leaks()
    assert [event.unit for event in see(one, 0, 5, 2)] == ["ecs.service"]
    (event,) = see(one, 60, 5, 5)
    assert (event.unit, event.process, event.reason) == ("", "runc", "/docker/#")


def test_zombies_that_were_freed_do_not_hide_the_next_ones() -> None:
    one = leaks()
    assert len(see(one, 0, 100)) == 1
    assert see(one, 30, 0) == []
    (event,) = see(one, 60, 10)
    assert event.text.startswith("10 memory cgroups")


def test_a_new_ledger_begins_at_zero() -> None:
    one = leaks()
    see(one, 0, 100)
    fresh = ledger(group(ECS, 9, 9))
    object.__setattr__(fresh, "began_ns", 1)
    assert len(list(one.look(moment_of(5, {CGROUP_LEDGER: fresh})))) == 1


def test_the_recorder_tells_it_and_an_absent_ledger_is_silent() -> None:
    watch = Watch(load_thresholds(None))
    absent: Reading[object] = Reading(absence=Absence.NOT_PERMITTED, detail="tracefs")
    assert watch(moment_of(0, {CGROUP_LEDGER: absent})) == []
    (event,) = watch(moment_of(5, {CGROUP_LEDGER: ledger(group(ECS, 9, 9))}))
    assert (event.kind, event.sequence) == ("cgroup-leak", 1)
