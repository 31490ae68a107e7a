"""What is said of a list that is not complete, and of a ledger that cannot be right."""

from __future__ import annotations

from typing import Any

import pytest

from necroscope.cli.screen import Screen
from necroscope.cli.zombies import zombies_document
from necroscope.cli.zombies_text import NamedZombies, named_zombies, zombies_text
from necroscope.diagnosis.zombies.zombie_report import Seen, ZombieReport, zombie_report
from necroscope.model.labels import Labels
from necroscope.model.reading import Absence, Reading
from necroscope.signals.cgroup_counts import Count
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cgroup_ledger import CgroupLedger, Leak
from necroscope.sources.memory_cgroups import HierarchyCount, MemoryCgroups

SECOND_NS = 10**9
NO_LEDGER: Reading[CgroupLedger] = Reading(absence=Absence.NOT_PERMITTED, detail="no tracefs")


def ledger(zombies: int, **more: Any) -> Reading[CgroupLedger]:
    counts = {"lost": 0, "untracked": 0, "freed_older": 0, "dying": zombies, **more}
    return Reading(CgroupLedger(began_ns=0, zombies=zombies, groups=(), leaks=(), freed=(), **counts))


def report_of(ledger: Reading[CgroupLedger], names: int | None, dying: int = 500) -> ZombieReport:
    """A host with some dying cgroups by the kernel; those with a name became zombies one a second."""
    leaks = names and [
        Leak(n, f"/a/{n}", n * SECOND_NS, n * SECOND_NS, "runc", 7, "", "", "runc", 7, "")
        for n in range(names)
    ]
    counts = [Count(n * SECOND_NS, dying + 20, 20, dying, None) for n in range(10)]
    memory = HierarchyCount("memory (v1)", 1, dying + 20, 20, dying, "/proc/cgroups")
    seen = Seen(
        labels=Labels("node", "5.4.0-99", cores_possible=96),
        time_ns=0,
        counts=MemoryCgroups(memory, (), None),
        long_series=counts,
        recent_series=counts,
        ledger=ledger,
        ledger_time_ns=9 * SECOND_NS,
        leaks=leaks,  # type: ignore[arg-type]
    )
    return zombie_report(seen, load_thresholds(None))


def named_of(report: ZombieReport) -> NamedZombies:
    named = named_zombies(report)
    assert named
    return named


def text_of(report: ZombieReport) -> str:
    return " ".join("\n".join(zombies_text(Screen(80, False), report, "unit", 0)).split())


def test_a_whole_list_needs_no_reason() -> None:
    report = report_of(ledger(40), 40)
    named = named_of(report)
    assert (len(named.leaks), named.of, named.left_out, named.reason) == (40, 40, 0, "")
    assert [leak.id for leak in named.leaks] == [*range(39, -1, -1)]
    assert "40 of 40 zombies named" in text_of(report)


def test_a_part_says_of_how_many_and_why() -> None:
    report = report_of(ledger(300, untracked=9), 40)
    body = zombies_document(report, "unit", 0)
    assert (len(body["zombies"]), body["named"]["count"], body["named"]["of"]) == (40, 40, 300)
    assert "newest 256" in body["named"]["reason"] and "9 are counted" in body["named"]["reason"]
    text = text_of(report)
    assert "40 of 300 zombies named" in text and "newest 256" in text


@pytest.mark.parametrize("zombies", [0, 12])
def test_never_more_than_the_ledger_counts(zombies: int) -> None:
    """After a purge of which not every id was recorded."""
    report = report_of(ledger(zombies), 40)
    body = zombies_document(report, "unit", 0)
    assert [row["id"] for row in body["zombies"]] == [*range(39, 39 - zombies, -1)], "the newest"
    assert (body["named"]["of"], body["named"]["left_out"]) == (zombies, 40 - zombies)
    assert "the oldest are left out" in body["named"]["reason"]
    text = text_of(report)
    assert f"{zombies} of {zombies} zombies named" in text
    assert f"{40 - zombies} more have a name" in text


def test_not_asked_for_or_not_known() -> None:
    body = zombies_document(report_of(ledger(40), None), "unit", 0)
    assert body["zombies"] is body["named"] is None
    body = zombies_document(report_of(NO_LEDGER, 0), "unit", 0)
    assert body["named"] is None
    assert "zombies named" not in text_of(report_of(NO_LEDGER, 0))


def test_lost_events_make_counts_wrong_both_ways() -> None:
    text = text_of(report_of(ledger(40, lost=7), None))
    assert "7: the counts of the ledger are off by up to as many" in text
    assert "beyond the kernel" not in text


@pytest.mark.parametrize(
    ("lost", "why"), [(0, "read at different moments"), (7, "releases may be among the lost events")]
)
def test_more_than_the_kernel_counts_cannot_be(lost: int, why: str) -> None:
    report = report_of(ledger(503, lost=lost), None)
    assert zombies_document(report, "unit", 0)["ledger"]["beyond_kernel"] == 3
    text = text_of(report)
    assert "the ledger counts 3 more dying than the kernel does" in text and why in text
    equal = report_of(ledger(500, lost=lost), None)
    assert zombies_document(equal, "unit", 0)["ledger"]["beyond_kernel"] == 0
    assert "more dying than the kernel" not in text_of(equal)
