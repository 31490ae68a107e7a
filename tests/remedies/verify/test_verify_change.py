"""Recorded time before and after a change, made up second by second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from necroscope.model.event import Event
from necroscope.model.plan import Goal
from necroscope.model.reading import Absence, Reading
from necroscope.model.verdict import Comparison, Verdict, Verification
from necroscope.remedies.verify.change import Change
from necroscope.remedies.verify.observe import Recording
from necroscope.remedies.verify.verify_change import Asked, verify_change
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import CORES
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.sources.reclaim import RECLAIM, Reclaim
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThread
from necroscope.sources.throttling import THROTTLING, CgroupThrottling
from necroscope.sources.units import UNITS, Unit
from necroscope.store.store import Store, StoredSegment
from tests.segments import core_seconds
from tests.stored import BOOT_ID, UTC_NS, event_of, moment_of, open_segment, sealed_segment

SECOND_NS = 10**9
FIXED = 60  # second at which the fix ended; it begins at once
BETTER, UNCHANGED, WORSE, INCONCLUSIVE = Verdict


def zombies(count: float) -> MemoryCgroups:
    dying = int(count)
    return MemoryCgroups(HierarchyCount("memory", 1, dying + 50, 50, dying, "/proc/cgroups"), (), None)


def unit(restarts: int, state: str = "activating", sub_state: str = "") -> tuple[Unit, ...]:
    return (
        Unit(
            "ecs.service", "", state, sub_state, restarts, "", "always", 1.0, 0, 1, "enabled", "enabled", ""
        ),
    )


def reclaim(pages: int) -> Reclaim:
    return Reclaim(0, pages, 0, 0, 0, 0, 1 << 30, 1 << 34)


def verify(
    root: Path, goals: Sequence[Goal] = (), fixed: float = FIXED, window: float = 60, **more: Any
) -> Verification:
    fixed_ns = UTC_NS + int(fixed * SECOND_NS)
    change = Change("a-fix", fixed_ns, fixed_ns, fixed_ns + 10**6 * SECOND_NS, tuple(goals), **more)
    recording = Recording(Store(root).segments(), load_thresholds(None), [])
    return verify_change(recording, change, Asked(window))


def one(verification: Verification, quantity: str) -> Comparison:
    (found,) = [row for row in verification.comparisons if row.quantity == quantity]
    return found


def record(
    root: Path, seconds: Sequence[int], values: Callable[[int], dict[Any, Any]], **more: Any
) -> StoredSegment:
    """One sealed segment: what every source says in each of these seconds."""
    return sealed_segment(root, [moment_of(second, values(second)) for second in seconds], **more)


def leak(
    until: int, per_second: float = 40.0, purged_to: int | None = None
) -> Callable[[int], dict[Any, Any]]:
    """Zombies that become more until some second, and are purged at the fix."""

    def values(second: int) -> dict[Any, Any]:
        count = 1000 + per_second * min(second, until)
        if purged_to is not None and second > FIXED:
            count = purged_to + per_second * (min(second, max(until, FIXED)) - FIXED)
        return {MEMORY_CGROUPS: zombies(count)}

    return values


def test_a_leak_that_was_stopped_and_purged_is_better(tmp_path: Path) -> None:
    record(tmp_path, range(130), leak(FIXED, purged_to=20))
    said = verify(tmp_path, [Goal("zombie-growth", ""), Goal("zombies", "")])
    assert said.verdict is BETTER
    growth, level = said.comparisons[:2]
    assert (growth.verdict, level.verdict) == (BETTER, BETTER)
    assert growth.before and growth.before.value == pytest.approx(40 * 3600)
    assert growth.after and growth.after.value == 0
    assert level.before and level.after and (level.before.value, level.after.value) == (3320, 20)
    assert [row.is_goal for row in said.comparisons] == [True] * 2 + [False] * 5
    assert said.before_seconds == 60 and said.after_seconds == 60


def test_a_purge_while_the_leak_goes_on_is_not_better(tmp_path: Path) -> None:
    record(tmp_path, range(130), leak(1000, purged_to=20))
    said = verify(tmp_path, [Goal("zombies", ""), Goal("zombie-growth", "")])
    assert said.verdict is UNCHANGED
    level, growth = said.comparisons[:2]
    assert (level.verdict, growth.verdict) == (UNCHANGED, UNCHANGED)
    assert level.why == "they fell, but more come as before: in 22 s there are as many again"


def test_a_leak_that_goes_on_makes_the_number_no_worse(tmp_path: Path) -> None:
    record(tmp_path, range(130), leak(1000))
    said = verify(tmp_path, [Goal("zombie-growth", ""), Goal("zombies", "")])
    assert [row.verdict for row in said.comparisons[:2]] == [UNCHANGED, UNCHANGED]
    assert said.verdict is UNCHANGED
    assert said.summary == "it did not help: zombie-growth and zombies did not move"


def test_a_leak_that_is_stopped_without_a_purge_is_better(tmp_path: Path) -> None:
    record(tmp_path, range(130), leak(FIXED))
    said = verify(tmp_path, [Goal("zombie-growth", ""), Goal("zombies", "")])
    assert said.verdict is BETTER
    assert said.summary == "it helped: zombie-growth got better; zombies did not move"


def test_a_leak_that_begins_is_worse(tmp_path: Path) -> None:
    late = {second: 1000 + 200 * max(second - FIXED, 0) for second in range(130)}
    record(tmp_path, range(130), lambda second: {MEMORY_CGROUPS: zombies(late[second])})
    said = verify(tmp_path, [Goal("zombie-growth", ""), Goal("zombies", "")])
    assert [row.verdict for row in said.comparisons[:2]] == [WORSE, WORSE]
    assert said.verdict is WORSE


def test_a_purge_within_the_window_is_not_growth(tmp_path: Path) -> None:
    """What came before it and after it counts, the fall does not."""

    def values(second: int) -> dict[Any, Any]:
        return {MEMORY_CGROUPS: zombies(5000 + 40 * second if second < 30 else 40 * (second - 30))}

    record(tmp_path, range(130), values)
    growth = one(verify(tmp_path), "zombie-growth")
    assert growth.before and growth.before.value == pytest.approx(40 * 3600)
    assert 57 < growth.before.seconds < 60


def test_zombies_that_come_where_none_came_do_not_come_as_before(tmp_path: Path) -> None:
    purged = {second: 3000 if second <= FIXED else 10 + 2 * (second - FIXED) for second in range(130)}
    record(tmp_path, range(130), lambda second: {MEMORY_CGROUPS: zombies(purged[second])})
    level = one(verify(tmp_path, [Goal("zombies", "")]), "zombies")
    assert (level.verdict, level.why) == (
        UNCHANGED,
        "they fell, but more come now: in 24 min there are as many again",
    )


def test_zombies_that_come_back_slower_are_better_and_that_is_said(tmp_path: Path) -> None:
    def values(second: int) -> dict[Any, Any]:
        return {MEMORY_CGROUPS: zombies(5000 + 40 * second if second <= FIXED else 10 * (second - FIXED))}

    record(tmp_path, range(130), values)
    level = one(verify(tmp_path, [Goal("zombies", "")]), "zombies")
    assert level.verdict is BETTER
    assert level.why == "they fell; fewer come than before, but in 11.2 min there are as many again"


def test_zombies_that_did_not_fall_while_more_come_are_unchanged_whatever_their_ratio(tmp_path: Path) -> None:
    """The growth before was too uneven to compare with, and more surely come."""

    def values(second: int) -> dict[Any, Any]:
        came = 3000 if second >= 50 else 0
        return {MEMORY_CGROUPS: zombies(20_000 + came + 40 * max(second - FIXED, 0))}

    record(tmp_path, range(130), values)
    said = verify(tmp_path, [Goal("zombies", ""), Goal("zombie-growth", "")])
    level, growth = said.comparisons[:2]
    assert growth.verdict is INCONCLUSIVE
    assert (level.verdict, level.why) == (UNCHANGED, "they did not fall")
    assert said.verdict is UNCHANGED


def test_a_fix_that_was_taken_back_asks_for_no_more_time(tmp_path: Path) -> None:
    record(tmp_path, range(66), leak(FIXED, purged_to=20))
    fixed_ns = UTC_NS + FIXED * SECOND_NS
    change = Change(
        "a-fix",
        fixed_ns,
        fixed_ns,
        fixed_ns + 5 * SECOND_NS,
        (Goal("zombie-growth", ""),),
        ended_by="it was taken back after 5 s",
    )
    said = verify_change(Recording(Store(tmp_path).segments(), load_thresholds(None), []), change, Asked(60))
    assert (said.verdict, said.needed_seconds) == (INCONCLUSIVE, None)
    assert said.summary == "it cannot be told: it was taken back after 5 s, too soon for zombie-growth"


def test_three_seconds_are_too_short(tmp_path: Path) -> None:
    record(tmp_path, range(66), leak(FIXED, purged_to=20))
    said = verify(tmp_path, [Goal("zombies", ""), Goal("zombie-growth", "")], window=3)
    assert said.verdict is INCONCLUSIVE
    assert said.needed_seconds == 8.0
    assert said.comparisons[0].why == "they fell, but it cannot be told yet whether more come"
    assert (
        said.summary
        == "it cannot be told yet: it takes a window of at least 8 s for zombies and zombie-growth"
    )


def test_a_gap_is_not_counted_and_not_guessed(tmp_path: Path) -> None:
    record(tmp_path, range(FIXED), leak(FIXED))
    record(tmp_path, range(62, 82), leak(FIXED))
    record(tmp_path, range(1000, 1030), leak(FIXED))
    said = verify(tmp_path, [Goal("zombie-growth", "")])
    assert said.verdict is BETTER
    assert said.comparisons[0].after and said.comparisons[0].after.seconds == 48
    assert said.after_seconds == 48


def test_after_a_boot_growth_is_compared_and_the_number_is_not(tmp_path: Path) -> None:
    record(tmp_path, range(FIXED), leak(FIXED))
    record(tmp_path, range(70, 130), lambda _: {MEMORY_CGROUPS: zombies(3)}, boot_id=BOOT_ID[:-1] + "2")
    said = verify(tmp_path, [Goal("zombie-growth", ""), Goal("zombies", "")])
    assert [row.verdict for row in said.comparisons[:2]] == [BETTER, INCONCLUSIVE]
    assert "booted in between" in said.comparisons[1].why
    assert said.verdict is BETTER
    assert said.summary.endswith("; the host booted in between")


def test_what_could_not_be_read_says_why(tmp_path: Path) -> None:
    refused: Reading[Any] = Reading(absence=Absence.NOT_PERMITTED, detail="/proc/cgroups")
    record(tmp_path, range(130), lambda _: {MEMORY_CGROUPS: refused})
    said = verify(tmp_path, [Goal("zombie-growth", "")])
    growth = said.comparisons[0]
    assert (growth.verdict, growth.before, growth.after) == (INCONCLUSIVE, None, None)
    assert "not permitted" in growth.why
    assert said.verdict is INCONCLUSIVE and "not permitted" in said.summary


def test_saturated_seconds_are_those_of_the_detector(tmp_path: Path) -> None:
    """Three in a row or more; a core that is in the kernel for two is not."""
    busy = (["system"] * 4 + ["idle"] * 2 + ["system"] * 2 + ["idle"] * 2) * 6
    counters = core_seconds(busy + ["idle"] * 70, ["user"] * 130)
    moments = [moment_of(second, {CORES: value}) for second, value in enumerate(counters)]
    open_segment(tmp_path, moments)
    said = verify(tmp_path, [Goal("saturated-core-seconds", "")])
    (row,) = [row for row in said.comparisons if row.is_goal]
    assert row.before and row.before.value == pytest.approx(24 / 60 * 3600, rel=0.05)
    assert row.after and row.after.value == 0
    assert row.verdict is BETTER
    other = verify(tmp_path, [Goal("saturated-core-seconds", "1")]).comparisons[0]
    assert other.subject == "1" and other.before and other.before.value == 0


def test_softirq_delay_and_reclaim_are_rates_of_their_counters(tmp_path: Path) -> None:
    def values(second: int) -> dict[Any, Any]:
        worked = min(second, FIXED)
        thread = SoftirqThread(9, "ksoftirqd/0", 0, worked * SECOND_NS // 2)
        return {SOFTIRQ_THREADS: (thread,), RECLAIM: reclaim(worked * 2000)}

    record(tmp_path, range(130), values)
    said = verify(tmp_path, [Goal("softirq-delay", ""), Goal("reclaim", "")])
    delay, pages = said.comparisons[:2]
    assert delay.before and delay.before.value == pytest.approx(1800)
    assert pages.before and pages.before.value == pytest.approx(7_200_000)
    assert [delay.verdict, pages.verdict] == [BETTER, BETTER]


def test_throttling_is_read_once_a_minute(tmp_path: Path) -> None:
    def values(second: int) -> dict[Any, Any]:
        return {THROTTLING: (CgroupThrottling("/pod", second, second, min(second, 1200) / 2),)}

    record(tmp_path, range(0, 2401, 60), values)
    row = one(verify(tmp_path, [Goal("throttling", "")], fixed=1200, window=1200), "throttling")
    assert row.before and row.before.value == pytest.approx(1800, rel=0.01)
    assert row.verdict is BETTER


def test_a_units_restarts_count_where_they_are_the_only_goal(tmp_path: Path) -> None:
    def values(second: int) -> dict[Any, Any]:
        return {UNITS: unit(second // 3) if second <= 60 else ()}

    record(tmp_path, [0, 30, 60, 63, 93, 123], values)
    goal = Goal("unit-restarts", "ecs.service")
    said = verify(tmp_path, [goal], units=("ecs.service",))
    assert said.verdict is BETTER
    (row,) = [row for row in said.comparisons if row.is_goal]
    assert row.before and row.after and (row.before.events, row.after.events) == (20, 0)


def test_a_units_restarts_do_not_prove_that_it_helped(tmp_path: Path) -> None:
    def values(second: int) -> dict[Any, Any]:
        units = {UNITS: unit(second // 3) if second <= FIXED else ()} if second % 30 in (0, 3) else {}
        return {**leak(1000)(second), **units}

    record(tmp_path, range(130), values)
    goals = [Goal("unit-restarts", "ecs.service"), Goal("zombie-growth", "")]
    said = verify(tmp_path, goals, units=("ecs.service",))
    assert [row.verdict for row in said.comparisons[:2]] == [BETTER, UNCHANGED]
    assert said.verdict is UNCHANGED


def test_a_unit_that_runs_no_longer(tmp_path: Path) -> None:
    def values(second: int) -> dict[Any, Any]:
        return {UNITS: unit(0, "active") if second <= FIXED else unit(0, "failed")}

    record(tmp_path, [0, 30, 60, 63, 93, 123], values)
    said = verify(tmp_path, [Goal("unit-runs", "ecs.service")], units=("ecs.service",))
    assert said.verdict is BETTER
    row = said.comparisons[0]
    assert row.before and row.after and (row.before.value, row.after.value) == (1, 0)


def test_a_unit_that_waits_for_its_next_start_does_not_run(tmp_path: Path) -> None:
    record(tmp_path, [0, 30, 60, 63, 93, 123], lambda _: {UNITS: unit(9, "activating", "auto-restart")})
    row = verify(tmp_path, [Goal("unit-runs", "ecs.service")]).comparisons[0]
    assert row.before and row.after and (row.before.value, row.after.value) == (0, 0)


def resets(*seconds: float, **more: Any) -> list[Event]:
    return [
        event_of("nic-reset", second, device="eth0", phase="stall", sequence=n, **more)
        for n, second in enumerate(seconds)
    ]


def test_lines_of_one_reset_are_one_and_days_are_looked_at(tmp_path: Path) -> None:
    quiet: Callable[[int], dict[Any, Any]] = lambda _: {MEMORY_CGROUPS: zombies(0)}  # noqa: E731
    hour = 3600
    events = resets(100, 105, 115, 5 * hour, 5 * hour + 2, 9 * hour)
    record(tmp_path, range(0, 10 * hour, 600), quiet, events=events)
    record(tmp_path, range(10 * hour, 20 * hour, 600), quiet)
    said = verify(tmp_path, [Goal("nic-resets", "")], fixed=10 * hour)
    row = said.comparisons[0]
    assert row.before and row.after and (row.before.events, row.after.events) == (3, 0)
    assert row.before.seconds == pytest.approx(9.83 * hour, rel=0.01)
    assert row.after.seconds == pytest.approx(9.83 * hour, rel=0.01)  # more than the window
    assert row.verdict is INCONCLUSIVE
    assert row.needed_seconds and 10 * hour < row.needed_seconds < 40 * hour


def test_a_damaged_segment_is_a_gap_and_is_told(tmp_path: Path) -> None:
    record(tmp_path, range(30), leak(FIXED))
    bad = record(tmp_path, range(30, 40), leak(FIXED))
    record(tmp_path, range(40, 130), leak(FIXED))
    (bad.folder / "counters/memory-cgroups.parquet").write_bytes(b"no table")
    recording = Recording(Store(tmp_path).segments(), load_thresholds(None), [])
    fixed_ns = UTC_NS + FIXED * SECOND_NS
    change = Change("", fixed_ns, fixed_ns, fixed_ns + 10**12, (Goal("zombie-growth", ""),))
    said = verify_change(recording, change, Asked(60))
    assert said.verdict is BETTER
    assert {damage.folder for damage in recording.damaged} == {bad.folder}


def test_without_goals_it_is_judged_by_what_was_troubled(tmp_path: Path) -> None:
    record(tmp_path, range(130), leak(FIXED, purged_to=0))
    assert verify(tmp_path).verdict is BETTER
    quiet = tmp_path / "quiet"
    record(quiet, range(130), leak(FIXED, per_second=0, purged_to=5))
    assert verify(quiet).verdict is BETTER  # a thousand are gone
    still = tmp_path / "still"
    record(still, range(130), lambda _: {MEMORY_CGROUPS: zombies(7)})
    said = verify(still)
    assert said.verdict is INCONCLUSIVE
    assert said.summary == "there is nothing to judge by: nothing of it was troubled in the time before"
