"""Which time belongs to a fix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from necroscope.errors import UsageError
from necroscope.model.fix import Fix, FixState, Progress, StepState
from necroscope.model.plan import Goal, Treatment
from necroscope.model.time_range import TimeRange
from necroscope.remedies.verify.change import (
    SETTLING_NS,
    after_window,
    change_at,
    change_of,
    newest_applied,
)
from necroscope.remedies.verify.windows import first_seconds, recorded_parts, recorded_seconds
from necroscope.store.store import StoredSegment
from tests.remedies.on_record import plan_of
from tests.stored import listed_segment

SECOND_NS = 10**9
NOW_NS = 1000 * SECOND_NS
PLAN = plan_of(
    [Goal("zombies", "")], [Treatment("disable-unit", "ecs.service"), Treatment("move-interrupts", "3")], "n"
)


def fix_at(begun: int, ended: int, state: FixState = FixState.APPLIED) -> Fix:
    return Fix(f"fix-{begun}", state, "", begun * SECOND_NS, ended * SECOND_NS, PLAN, ())


def segment(begin: float, end: float) -> StoredSegment:
    return listed_segment(int(begin * SECOND_NS), int(end * SECOND_NS))


def test_a_fix_lasts_until_the_next_and_begins_after_the_one_before() -> None:
    fixes = [fix_at(10, 20), fix_at(100, 110), fix_at(300, 310)]
    change = change_of(fixes[1], fixes, NOW_NS)
    assert (change.since_ns, change.begun_ns) == (20 * SECOND_NS, 100 * SECOND_NS)
    assert (change.ended_ns, change.until_ns) == (110 * SECOND_NS, 300 * SECOND_NS)
    assert change.units == ("ecs.service",)
    assert after_window(change) == TimeRange(110 * SECOND_NS + SETTLING_NS, 300 * SECOND_NS)
    assert change_of(fixes[2], fixes, NOW_NS).until_ns == NOW_NS


def test_fixes_of_other_machines_do_not_matter() -> None:
    other = replace(fix_at(200, 210), plan=replace(PLAN, machine_id="another"))
    assert change_of(fix_at(100, 110), [other], NOW_NS).until_ns == NOW_NS


def test_a_fix_ends_with_its_undo() -> None:
    at_ns = 150 * SECOND_NS
    undone = replace(fix_at(100, 110, FixState.UNDONE), progress=(Progress(StepState.UNDONE, {}, "", at_ns),))
    change = change_of(undone, [undone], NOW_NS)
    assert (change.until_ns, change.ended_by) == (at_ns, "it was taken back after 40 s")
    assert change_of(fix_at(100, 110), [], NOW_NS).ended_by == ""


def with_steps(fix: Fix, *seconds: int, state: StepState = StepState.DONE) -> Fix:
    return replace(fix, progress=tuple(Progress(state, {}, "", at * SECOND_NS) for at in seconds))


def test_the_undo_of_another_fix_is_a_change_too() -> None:
    fix, earlier = fix_at(100, 110), fix_at(10, 20, FixState.UNDONE)
    before = with_steps(earlier, 70, state=StepState.UNDONE)
    assert change_of(fix, [before, fix], NOW_NS).since_ns == 70 * SECOND_NS
    after = with_steps(earlier, 150, state=StepState.UNDONE)
    change = change_of(fix, [after, fix], NOW_NS)
    assert (change.until_ns, change.since_ns) == (150 * SECOND_NS, 20 * SECOND_NS)
    assert change.ended_by == "another fix began or was taken back after 40 s"


@pytest.mark.parametrize("state", [FixState.FAILED, FixState.UNFINISHED])
def test_a_fix_that_failed_or_was_left_is_a_change_too(state: FixState) -> None:
    fix = fix_at(100, 110)
    assert change_of(fix, [with_steps(fix_at(80, 0, state), 85), fix], NOW_NS).since_ns == 85 * SECOND_NS
    assert change_of(fix, [with_steps(fix_at(180, 0, state), 185), fix], NOW_NS).until_ns == 180 * SECOND_NS


def test_a_change_by_hand_lies_between_the_fixes_of_its_host() -> None:
    fixes = [fix_at(10, 20), fix_at(300, 310)]
    change = change_at(100 * SECOND_NS, "n", fixes, NOW_NS)
    assert (change.since_ns, change.until_ns) == (20 * SECOND_NS, 300 * SECOND_NS)
    assert change.ended_by == "another fix began or was taken back after 3.3 min"
    other = change_at(100 * SECOND_NS, "other", fixes, NOW_NS)
    assert (other.since_ns, other.until_ns, other.ended_by) == (0, NOW_NS, "")


def test_what_did_not_end_or_does_not_run_cannot_be_verified() -> None:
    with pytest.raises(UsageError, match="has not ended"):
        change_of(fix_at(100, 0, FixState.UNFINISHED), [], NOW_NS)
    with pytest.raises(UsageError, match="nothing runs"):
        change_of(replace(fix_at(1, 2), plan=replace(PLAN, is_image=True)), [], NOW_NS)


def test_the_newest_applied_fix_of_a_host() -> None:
    fixes = [fix_at(10, 20), fix_at(30, 40), fix_at(50, 60, FixState.UNDONE)]
    assert newest_applied(fixes, "n") is fixes[1]
    assert newest_applied(fixes, "other") is None


def test_only_recorded_seconds_count() -> None:
    segments = [segment(0, 10), segment(10, 20), segment(15, 25), segment(100, 130)]
    window = TimeRange(5 * SECOND_NS, 120 * SECOND_NS)
    assert [(p.begin_ns // SECOND_NS, p.end_ns // SECOND_NS) for p in recorded_parts(segments, window)] == [
        (5, 25),
        (100, 120),
    ]
    assert recorded_seconds(segments, window) == 40
    assert first_seconds(segments, window, 25).end_ns == 105 * SECOND_NS
    assert first_seconds(segments, window, 19).end_ns == 25 * SECOND_NS  # to its end, which is near
    assert first_seconds(segments, window, 90) == window
