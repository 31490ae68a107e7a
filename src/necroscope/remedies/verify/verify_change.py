"""Compare the recorded time before a change with that after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from necroscope.model.plan import Goal
from necroscope.model.time_range import TimeRange
from necroscope.model.verdict import Comparison, Measure, Verification
from necroscope.remedies.verify.change import Change, after_window
from necroscope.remedies.verify.compare_levels import Growth, compare_running, compare_zombies
from necroscope.remedies.verify.compare_rates import Outcome, compare_rates
from necroscope.remedies.verify.judge import expected
from necroscope.remedies.verify.observe import Level, Recording, observe, observe_level
from necroscope.remedies.verify.overall import overall
from necroscope.remedies.verify.quantities import (
    OF_UNITS,
    QUANTITIES,
    UNIT_RESTARTS,
    ZOMBIE_GROWTH,
    Kind,
    Quantity,
)
from necroscope.remedies.verify.spans import Spans
from necroscope.remedies.verify.windows import (
    boots_in,
    first_seconds,
    recorded_seconds,
)
from necroscope.statistics.gamma_poisson import rate_interval

LEAST_BEFORE_SECONDS = 600.0
RARE_SECONDS = 14 * 86400.0  # of what comes once in days, as much as a recorder usually keeps


@dataclass(frozen=True, slots=True)
class Asked:
    """How much time to compare."""

    window_seconds: float  # after, as recorded
    before_seconds: float | None = None  # None: as much as is of use

    def seconds_before(self, *, is_rare: bool) -> float:
        """How much time before: it is recorded already, and costs nothing but that it was long ago."""
        if self.before_seconds is not None:
            return self.before_seconds
        return RARE_SECONDS if is_rare else max(self.window_seconds, LEAST_BEFORE_SECONDS)


def verify_change(recording: Recording, change: Change, asked: Asked) -> Verification:
    """Measure all quantities on both sides, and judge. Segments must be of the host that was changed."""
    windows = _windows(recording, change, asked, is_rare=False)
    rare_windows = _windows(recording, change, asked, is_rare=True)
    growth = _rates(recording, ZOMBIE_GROWTH, "", windows)
    comparisons = []
    for goal, is_goal in _wanted(change):
        quantity = QUANTITIES[goal.quantity]
        if quantity is ZOMBIE_GROWTH:
            seen = growth
        elif quantity.kind is Kind.LEVEL:
            seen = _levels(recording, windows, growth)
        else:
            seen = _rates(recording, quantity, goal.subject, rare_windows if quantity.is_rare else windows)
        comparisons.append(_within(change, _comparison(goal, is_goal, seen)))
    return _verification(recording, change, windows, comparisons)


@dataclass(frozen=True, slots=True)
class _Compared:
    before: Measure | None
    after: Measure | None
    outcome: Outcome
    after_at_least: float = 0.0  # per second, with 97.5 %


def _wanted(change: Change) -> list[tuple[Goal, bool]]:
    """What is measured: the goals in their order, then all that the machine has, and the treated units."""
    goals = [goal for goal in change.goals if goal.quantity in QUANTITIES]
    named = {goal.quantity for goal in goals if not goal.subject}
    others = [Goal(id, "") for id in QUANTITIES if id not in OF_UNITS and id not in named]
    others += [goal for unit in change.units if (goal := Goal(UNIT_RESTARTS.id, unit)) not in goals]
    return [(goal, True) for goal in goals] + [(goal, False) for goal in others]


def _windows(
    recording: Recording, change: Change, asked: Asked, *, is_rare: bool
) -> tuple[TimeRange, TimeRange]:
    after = after_window(change)
    begin_ns = change.begun_ns - int(asked.seconds_before(is_rare=is_rare) * 1e9)
    # Of what is rare, the little time since another fix would leave nothing to compare with.
    before = TimeRange(begin_ns if is_rare else max(begin_ns, change.since_ns), change.begun_ns)
    return before, after if is_rare else first_seconds(recording.segments, after, asked.window_seconds)


def _rates(
    recording: Recording, quantity: Quantity, subject: str, windows: tuple[TimeRange, TimeRange]
) -> _Compared:
    before, after = (observe(quantity, subject, recording, window) for window in windows)
    is_state = quantity.kind is Kind.STATE
    outcome = compare_running(before, after) if is_state else compare_rates(quantity, before, after)
    seen = None if is_state else expected(quantity, after)
    at_least = rate_interval(seen)[0] if seen and seen.amount else 0.0
    return _Compared(_measure(quantity, before), _measure(quantity, after), outcome, at_least)


def _measure(quantity: Quantity, spans: Spans) -> Measure | None:
    if not spans.spans:
        return None
    events = round(spans.amount) if quantity.kind is Kind.EVENTS else None
    return Measure(spans.per_second * quantity.per_seconds, spans.seconds, events)


def _levels(recording: Recording, windows: tuple[TimeRange, TimeRange], growth: _Compared) -> _Compared:
    before, after = (observe_level(recording, window) for window in windows)
    was, now = (
        measure.value / ZOMBIE_GROWTH.per_seconds if measure else 0.0
        for measure in (growth.before, growth.after)
    )
    outcome = compare_zombies(before, after, Growth(was, now, growth.after_at_least, growth.outcome))
    first, second = (
        Measure(level.value, level.seconds, None) if isinstance(level, Level) else None
        for level in (before, after)
    )
    return _Compared(first, second, outcome)


def _comparison(goal: Goal, is_goal: bool, seen: _Compared) -> Comparison:
    return Comparison(
        quantity=goal.quantity,
        subject=goal.subject,
        unit=QUANTITIES[goal.quantity].unit,
        is_goal=is_goal,
        before=seen.before,
        after=seen.after,
        ratio=seen.outcome.ratio,
        low=seen.outcome.low,
        high=seen.outcome.high,
        probability_better=seen.outcome.probability_better,
        verdict=seen.outcome.verdict,
        needed_seconds=seen.outcome.needed_seconds,
        why=seen.outcome.why,
    )


def _within(change: Change, comparison: Comparison) -> Comparison:
    """Without a promise of time that cannot count any more."""
    needed = comparison.needed_seconds
    if not change.ended_by or needed is None or needed <= after_window(change).seconds:
        return comparison
    return replace(comparison, needed_seconds=None, why=f"{comparison.why}; {change.ended_by}")


def _verification(
    recording: Recording,
    change: Change,
    windows: tuple[TimeRange, TimeRange],
    comparisons: Sequence[Comparison],
) -> Verification:
    before, after = windows
    said = overall(comparisons, change.units, change.ended_by)
    was, now = (boots_in(recording.segments, window)[-1:] for window in windows)
    booted = "; the host booted in between" if was and now and was != now else ""
    return Verification(
        fix=change.fix,
        changed_ns=change.ended_ns,
        before_seconds=recorded_seconds(recording.segments, before),
        after_seconds=recorded_seconds(recording.segments, after),
        comparisons=tuple(comparisons),
        verdict=said.verdict,
        summary=f"{said.summary}{booted}",
        needed_seconds=said.needed_seconds,
    )
