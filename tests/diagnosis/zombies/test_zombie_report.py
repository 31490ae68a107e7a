from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from necroscope.diagnosis.zombies.wall import Outlook
from necroscope.diagnosis.zombies.zombie_report import Seen, zombie_report
from necroscope.model.labels import Labels
from necroscope.model.reading import Absence, Reading
from necroscope.signals.cgroup_counts import Count
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cgroup_ledger import CgroupLedger
from necroscope.sources.memory_cgroups import HierarchyCount, MemoryCgroups

SECOND_NS = 10**9
THRESHOLDS = load_thresholds(None)


def series(*dying: int, step_seconds: int = 1) -> list[Count]:
    return [Count(n * step_seconds * SECOND_NS, d + 20, 20, d, None) for n, d in enumerate(dying)]


def seen(counts: Sequence[Count], **more: object) -> Seen:
    last = counts[-1]
    memory = HierarchyCount("memory (v1)", 1, last.tracked, last.in_use, last.dying, "/proc/cgroups")
    base = Seen(
        labels=Labels("node", "5.4.0-99", cores_possible=96),
        time_ns=0,
        counts=MemoryCgroups(memory, (), None),
        long_series=counts,
        recent_series=counts,
        ledger=Reading(absence=Absence.NOT_PERMITTED, detail="no tracefs"),
        ledger_time_ns=last.time_ns,
        leaks=None,
        memory_total_bytes=64 << 30,
    )
    return replace(base, **more)  # type: ignore[arg-type]


def ledger(dying: int) -> Reading[CgroupLedger]:
    return Reading(CgroupLedger(0, 0, 0, 0, dying, dying, (), (), ()))


def test_a_quiet_node_is_quiet() -> None:
    report = zombie_report(seen(series(*[40] * 11)), THRESHOLDS)
    assert not report.is_leaking and not report.is_alarming


def test_a_leak_within_ten_seconds_is_a_leak() -> None:
    report = zombie_report(seen(series(*range(40, 51))), THRESHOLDS)
    assert report.is_leaking and report.is_alarming
    assert report.rate and report.rate.slope.value == pytest.approx(1.0)
    assert report.wall.outlook is Outlook.TOO_SHORT, "ten seconds say nothing about the next days"


def test_one_burst_of_removals_is_none() -> None:
    report = zombie_report(seen(series(40, 40, 40, 40, 90, 90, 90, 90, 90, 90, 90)), THRESHOLDS)
    assert not report.is_leaking


def test_slow_is_not_alarming() -> None:
    """A cgroup every two minutes: a trend, and less than one a minute."""
    report = zombie_report(seen(series(*range(100), step_seconds=120)), THRESHOLDS)
    assert report.rate and report.rate.slope.is_trend
    assert not report.is_leaking


def test_many_are_alarming_also_when_none_are_added() -> None:
    assert zombie_report(seen(series(*[1000] * 11)), THRESHOLDS).is_alarming
    assert not zombie_report(seen(series(*[999] * 11)), THRESHOLDS).is_alarming


def test_beyond_the_wall_is_alarming() -> None:
    small = seen(series(*[900] * 11), memory_total_bytes=1 << 30)
    report = zombie_report(small, THRESHOLDS)
    assert report.wall.outlook is Outlook.BEYOND and report.is_alarming


def test_the_older_are_those_at_the_ledgers_own_time() -> None:
    """The counts are newer than the recorder's ledger, and the leak went on in between."""
    counts = series(*range(300, 360))
    report = zombie_report(seen(counts, ledger=ledger(45), ledger_time_ns=50 * SECOND_NS), THRESHOLDS)
    assert report.older == 350 - 45
    assert report.ledger_seconds == 50


def test_what_is_missing_is_said_with_what_would_help() -> None:
    report = zombie_report(seen(series(*[40] * 11)), THRESHOLDS)
    rows = {row.source: row for row in report.not_checked}
    assert set(rows) == {"cgroup-ledger", "statistics-reads", "zombie-pins", "profiles"}
    assert "no tracefs" in rows["cgroup-ledger"].reason and "root" in rows["cgroup-ledger"].hint
    assert report.older is None


def test_thresholds_change_the_verdict() -> None:
    strict = {**THRESHOLDS, "zombie-memory-cgroups.warning": 10.0}
    assert zombie_report(seen(series(*[40] * 11)), strict).is_alarming
