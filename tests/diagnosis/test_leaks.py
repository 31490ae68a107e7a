"""Rates and counts of a leak that begins in the middle of a recording.

The readings are those of a recorded incident: a unit fails every 0.85 s, and each start leaves 700 cgroups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from necroscope.diagnosis.diagnose import diagnose
from necroscope.diagnosis.leaks import find_loops, find_owners, leaks_per_restart, pace_of
from necroscope.diagnosis.scene import Scene
from necroscope.model.diagnosis import Strength
from necroscope.model.event import Event
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, LedgerGroup
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.sources.source import Source
from necroscope.sources.units import UNITS
from tests.diagnosis.scenes import THRESHOLDS, units, zombies
from tests.segments import BEGIN_NS, segment_of
from tests.stored import SECOND_NS

# By second: zombies of the ledger, removed and not freed, restarts, zombies that the kernel counts.
READINGS = {
    0: (0, 0, 0, 375),
    5: (0, 0, 0, 375),
    10: (0, 0, 0, 375),
    15: (0, 0, 0, 369),
    20: (0, 0, 0, 369),
    25: (700, 2800, 3, 3171),
    30: (4200, 6300, 8, 6672),
    35: (7700, 10500, 14, 10871),
    40: (11900, 14700, 21, 15071),
}
END_NS = BEGIN_NS + 37 * SECOND_NS
LEAK = Event("cgroup-leak", END_NS, "ledger", "...", unit="ecs.service")


def recorded(older: int = 0, began_ns: int = BEGIN_NS) -> Scene:
    """What was read, with some zombies that are older than the ledger, which began then."""
    series: dict[Source[Any], Sequence[Any]] = {
        CGROUP_LEDGER: [_ledger(began_ns, settled, dying) for settled, dying, _, _ in READINGS.values()],
        UNITS: units(*(restarts for *_, restarts, _ in READINGS.values())),
        MEMORY_CGROUPS: zombies(*(count + older for *_, count in READINGS.values()), in_use=24),
    }
    segment = segment_of(series)
    moments = tuple(
        replace(moment, time_ns=BEGIN_NS + second * SECOND_NS)
        for moment, second in zip(segment.moments, READINGS, strict=True)
    )
    return Scene(replace(segment, moments=moments), (), THRESHOLDS)


def _ledger(began_ns: int, settled: int, dying: int) -> CgroupLedger:
    agent = ("ecs-agent", "/system.slice/ecs.service", "ecs.service", "ecs-agent", "ecs.service")
    group = LedgerGroup("/ecs/#", *agent, dying, dying, 0, dying, settled, "/ecs/1")
    return CgroupLedger(began_ns, 0, 0, 0, dying, settled, (group,) if dying else (), (), ())


def test_a_rate_is_of_the_time_in_which_it_leaked() -> None:
    (owner,) = find_owners(recorded(), END_NS)
    assert owner.leaked == 10_500
    assert owner.pace.per_minute == pytest.approx(50_400, rel=0.1) and owner.pace.words == "over 10 s"
    (loop,) = find_loops(recorded(), END_NS)
    assert loop.pace.per_minute == pytest.approx(70, rel=0.1) and loop.pace.words == "over 15 s"


def test_leaks_and_restarts_of_the_same_moment_are_compared() -> None:
    (owner,), (loop,) = find_owners(recorded(), END_NS), find_loops(recorded(), END_NS)
    assert leaks_per_restart(recorded(), owner, loop) == 700


def test_the_link_of_a_real_leak_is_strong_and_its_numbers_are_right() -> None:
    found = diagnose(recorded(), LEAK)
    (link,) = found.chain
    assert (link.id, link.strength) == ("unit-leaks-cgroups", Strength.STRONG)
    seen = {one.name: one for one in link.evidence}
    share = seen["share of all zombies that ecs.service leaked since the ledger began"]
    assert share.value == pytest.approx(0.966)
    assert "over 10 s until 2026-" in seen["leak rate"].source
    assert "72.0 times a minute (over 15 s)" in link.cause


def test_a_burst_does_not_account_for_the_zombies_of_days() -> None:
    """Older zombies are laid to a leak by its rate since the ledger began, not by that of a burst."""
    found = diagnose(recorded(older=10**6, began_ns=BEGIN_NS // 2), LEAK)
    assert not found.chain and "older than the ledger" in found.missing[0]


@pytest.mark.parametrize(
    ("counts", "per_minute", "words"),
    [
        ([(0, 0), (600, 0), (605, 50), (610, 100), (615, 150), (700, 150)], 600, "over 10 s"),
        ([(0, 0), (5, 40), (300, 40)], 480, "over 5 s"),  # one reading saw it: all of that interval
        ([(0, 0), (100, 1), (400, 2), (600, 2)], 0.2, "over 5 min"),
        ([(0, 7), (60, 7)], 0, "over 60 s"),
        ([], 0, "over 0 s"),
    ],
)
def test_only_the_time_in_which_it_rose_counts(
    counts: list[tuple[int, int]], per_minute: float, words: str
) -> None:
    pace = pace_of([(second * SECOND_NS, count) for second, count in counts])
    assert pace.per_minute == pytest.approx(per_minute) and pace.words == words
