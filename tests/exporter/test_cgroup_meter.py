"""How fast zombies grow, and whose they are."""

from __future__ import annotations

import random

import pytest

from necroscope.exporter.cgroup_meter import CgroupMeter, zombies_by_owner
from necroscope.exporter.families import MAX_OWNERS
from necroscope.model.reading import Absence, Reading
from necroscope.signals.cgroup_counts import CgroupCounts
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cgroup_ledger import CgroupLedger, LedgerGroup
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from tests.stored import moment_of

GROWTH = "necroscope_memory_cgroup_zombie_growth_per_second"


def counts(zombies: int, *others: HierarchyCount) -> MemoryCgroups:
    return MemoryCgroups(
        HierarchyCount("memory (v1)", 1, zombies + 80, 80, zombies, "/proc/cgroups"), others, None
    )


def growth(meter: CgroupMeter) -> float | None:
    return next((sample.value for sample in meter.samples() if sample.family == GROWTH), None)


def group(pattern: str, zombies: int, creator: str = "", creator_unit: str = "") -> LedgerGroup:
    return LedgerGroup(
        pattern, creator, "", creator_unit, "", "", zombies, zombies, 0, zombies, zombies, pattern
    )


def ledger(*groups: LedgerGroup, zombies: int | None = None) -> CgroupLedger:
    counted = sum(one.zombies for one in groups) if zombies is None else zombies
    return CgroupLedger(0, 0, 0, 0, counted, counted, groups, (), ())


def observe(meter: CgroupMeter, begin: int, end: int, zombies_at: list[int]) -> None:
    for second in range(begin, end):
        meter.observe(moment_of(second, {MEMORY_CGROUPS: counts(zombies_at[second])}))


def test_growth_needs_some_time_and_then_is_the_slope() -> None:
    chance = random.Random(11)
    zombies_at = [1000 + second // 2 + chance.randrange(-3, 4) for second in range(2000)]
    meter = CgroupMeter(CgroupCounts(load_thresholds(None)))
    observe(meter, 0, 65, zombies_at)
    assert growth(meter) is None, "seven points"
    observe(meter, 65, 75, zombies_at)
    assert growth(meter) is not None
    observe(meter, 75, 1300, zombies_at)
    assert growth(meter) == pytest.approx(0.5, rel=0.02)


def test_growth_is_that_of_the_last_ten_minutes() -> None:
    zombies_at = [10 * min(second, 1000) for second in range(1700)]
    meter = CgroupMeter(CgroupCounts(load_thresholds(None)))
    observe(meter, 0, 1000, zombies_at)
    assert growth(meter) == pytest.approx(10)
    observe(meter, 1000, 1620, zombies_at)
    assert growth(meter) == 0


def test_freeing_is_negative_growth() -> None:
    meter = CgroupMeter(CgroupCounts(load_thresholds(None)))
    observe(meter, 0, 600, [10_000 - 5 * second for second in range(600)])
    assert growth(meter) == pytest.approx(-5)


@pytest.mark.parametrize("purged", [100, 500])
def test_a_purge_does_not_hide_a_leak_that_goes_on(purged: int) -> None:
    meter = CgroupMeter(CgroupCounts(load_thresholds(None)))
    observe(meter, 0, 600, [5000 + second if second < purged else second - purged for second in range(600)])
    assert growth(meter) == pytest.approx(1)


def test_that_a_leak_ended_shows_after_half_of_the_time() -> None:
    zombies_at = [min(second, 600) for second in range(1300)]
    meter = CgroupMeter(CgroupCounts(load_thresholds(None)))
    observe(meter, 0, 700, zombies_at)
    assert growth(meter) == pytest.approx(1)
    observe(meter, 700, 1150, zombies_at)
    assert growth(meter) == 0


def test_without_counts_there_is_no_growth_and_it_begins_anew() -> None:
    meter = CgroupMeter(CgroupCounts(load_thresholds(None)))
    observe(meter, 0, 200, list(range(200)))
    meter.observe(moment_of(200, {MEMORY_CGROUPS: Reading(absence=Absence.NOT_PERMITTED)}))
    assert not list(meter.samples())
    meter.observe(moment_of(201, {MEMORY_CGROUPS: counts(201)}))
    assert growth(meter) is None


def test_tracked_is_all_of_every_hierarchy() -> None:
    meter = CgroupMeter(CgroupCounts(load_thresholds(None)))
    meter.observe(
        moment_of(0, {MEMORY_CGROUPS: counts(20, HierarchyCount("unified (v2)", 2, 12, 10, 2, ""))})
    )
    tracked = {
        sample.labels: sample.value
        for sample in meter.samples()
        if sample.family == "necroscope_memory_cgroups_tracked"
    }
    assert tracked == {("memory (v1)",): 100, ("unified (v2)",): 12}


def test_owners_are_units_else_programs_else_unknown() -> None:
    groups = (
        group("/system.slice/a.service", 5),
        group("/system.slice/a.service/#", 2, "runc"),
        group("/docker/#", 4, "runc", "docker.service"),
        group("/jobs/#", 3, "python"),
        group("/made/before", 6),
        group("/freed", 0, "tidy"),
    )
    assert zombies_by_owner(ledger(*groups)) == {
        "a.service": 7,
        "unknown": 6,
        "docker.service": 4,
        "python": 3,
        "other": 0,
    }


def test_owners_are_bounded_and_none_is_lost() -> None:
    groups = [group(f"/{n}.service", n + 1) for n in range(40)]
    owners = zombies_by_owner(ledger(*groups, zombies=1000))  # of groups that the ledger does not list too
    assert len(owners) == MAX_OWNERS + 1
    assert owners["39.service"] == 40 and "19.service" not in owners
    assert sum(owners.values()) == 1000


def test_a_program_that_is_called_other() -> None:
    assert zombies_by_owner(ledger(group("/#", 5, "other"))) == {"other": 5}


def test_a_ledger_without_zombies_says_so() -> None:
    assert zombies_by_owner(ledger()) == {"other": 0}
