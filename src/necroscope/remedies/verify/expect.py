"""How a fix will be verified, and how long that takes: said before anything is changed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from necroscope.errors import NecroscopeError
from necroscope.model.amounts import amount_text, time_text
from necroscope.model.plan import Goal, Plan
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS
from necroscope.remedies.verify.judge import expected
from necroscope.remedies.verify.observe import Level, Recording, observe, observe_level
from necroscope.remedies.verify.quantities import QUANTITIES, UNIT_RESTARTS, Kind, Quantity
from necroscope.remedies.verify.spans import Spans
from necroscope.remedies.verify.time_needed import time_to_show_an_end
from necroscope.remedies.verify.verify_change import RARE_SECONDS
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.host import Host
from necroscope.sources.units import UNITS
from necroscope.statistics.gamma_poisson import rate_interval
from necroscope.store.store import Store

USUAL_SECONDS = 600.0
USUAL_BASELINE_SECONDS = 30.0  # of `fix --apply` where no recorder runs
RESTARTS_TO_SEE = 10
NOT_RECORDED = "not recorded yet; the seconds before the first step will be compared with"


def expect(plan: Plan, store: Path | None, host: Host) -> tuple[str, ...]:
    """A sentence for every goal of a plan: what is recorded of it, and how long `verify` will take."""
    try:
        name = plan.host or host.name()
        segments = [s for s in Store(store).segments() if s.boot_id and s.host == name] if store else []
        recording = Recording(segments, load_thresholds(None), [])
    except NecroscopeError as error:
        return (f"what was recorded until now cannot be read: {error.what}",)
    return (*expect_goals(plan.goals, recording, time.time_ns()), *_seldom_restarted(plan.goals, host))


def _seldom_restarted(goals: Sequence[Goal], host: Host) -> Iterator[str]:
    """Of units that wait long between two starts, a usual baseline sees one restart or none."""
    wanted = {goal.subject for goal in goals if goal.quantity == UNIT_RESTARTS.id}
    if not wanted or not host.is_live:
        return
    for unit in UNITS.open(host)().value or ():
        baseline = RESTARTS_TO_SEE * unit.restart_delay_seconds
        if unit.name in wanted and baseline > USUAL_BASELINE_SECONDS:
            yield (
                f"{unit.name} is started again after {time_text(unit.restart_delay_seconds)}: to see enough"
                f" restarts before, record longer: --baseline {math.ceil(baseline / 60)}m"
            )


def expect_goals(
    goals: Sequence[Goal], recording: Recording, now_ns: int, seconds: float = USUAL_SECONDS
) -> tuple[str, ...]:
    """The same for some goals and the time before a moment."""
    return tuple(
        f"{goal}: " + _expectation(QUANTITIES[goal.quantity], goal.subject, recording, now_ns, seconds)
        for goal in goals
        if goal.quantity in QUANTITIES
    )


def _expectation(
    quantity: Quantity, subject: str, recording: Recording, now_ns: int, usual_seconds: float
) -> str:
    seconds = RARE_SECONDS if quantity.is_rare else usual_seconds
    window = TimeRange(now_ns - int(seconds * SECOND_NS), now_ns)
    if quantity.kind is Kind.LEVEL:
        level = observe_level(recording, window)
        return f"{level.value:,.0f} now" if isinstance(level, Level) else NOT_RECORDED
    spans = observe(quantity, subject, recording, window)
    if not spans.spans:
        return NOT_RECORDED
    if quantity.kind is Kind.STATE:
        return f"it runs {spans.per_second:.0%} of the time"
    return _rate_words(quantity, spans)


def _rate_words(quantity: Quantity, spans: Spans) -> str:
    seen = expected(quantity, spans)
    rate = spans.per_second * quantity.per_seconds
    unit = quantity.unit.replace("/h", " an hour").replace("/day", " a day")
    since = f"in {time_text(spans.seconds)}"
    if rate <= quantity.floor:
        return f"{amount_text(max(rate, 0.0))} {unit} {since}: it is not troubled now"
    if seen is None:
        return f"{amount_text(rate)} {unit} {since}: too short to say what is usual"
    low, high = (end * quantity.per_seconds for end in rate_interval(seen))
    needed = time_to_show_an_end(quantity, spans, seen)
    between = f"{amount_text(rate)} {unit} ({amount_text(low)} to {amount_text(high)}) {since}"
    return f"{between}: {_needed_words(quantity, needed)}"


def _needed_words(quantity: Quantity, needed: float | None) -> str:
    if needed is None:
        return "no time without it would prove that it is gone"
    without = " without one" if quantity.kind is Kind.EVENTS else ""
    return f"{time_text(needed)}{without} will show that it is gone"
