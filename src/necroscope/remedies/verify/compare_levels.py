"""What is there, without any chance in it: the number of zombies, and whether a unit runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from necroscope.model.amounts import time_text
from necroscope.model.verdict import Verdict
from necroscope.remedies.verify.compare_rates import Outcome
from necroscope.remedies.verify.judge import CLEAR, HALF
from necroscope.remedies.verify.observe import Level
from necroscope.remedies.verify.quantities import UNIT_RUNS, ZOMBIE_GROWTH, ZOMBIES
from necroscope.remedies.verify.spans import Spans


@dataclass(frozen=True, slots=True)
class Growth:
    """How the number of zombies moved before and after, and what was made of that."""

    before_per_second: float
    after_per_second: float
    after_at_least_per_second: float
    outcome: Outcome

    @property
    def was_troubled(self) -> bool:
        """Whether they became more before."""
        return self.before_per_second * ZOMBIE_GROWTH.per_seconds > ZOMBIE_GROWTH.floor

    @property
    def goes_on(self) -> bool:
        """Whether it is sure that they still become more."""
        return self.after_at_least_per_second * ZOMBIE_GROWTH.per_seconds > ZOMBIE_GROWTH.floor


def compare_zombies(before: Level | str, after: Level | str, growth: Growth) -> Outcome:
    """Judge the number of zombies. A purge alone does not make it better: they come back if more are made."""
    if isinstance(before, str):
        return Outcome(Verdict.INCONCLUSIVE, why=f"before: {before}")
    if isinstance(after, str):
        return Outcome(Verdict.INCONCLUSIVE, needed_seconds=1.0, why=f"after: {after}")
    if before.boot_id != after.boot_id:
        why = "the host booted in between, and after a boot there are none: see zombie-growth"
        return Outcome(Verdict.INCONCLUSIVE, why=why)
    ratio = after.value / before.value if before.value else None
    if max(before.value, after.value) <= ZOMBIES.floor:
        return Outcome(Verdict.UNCHANGED, ratio, why="there were few before, and are now")
    return replace(_judge(before, after, growth), ratio=ratio)


def _judge(before: Level, after: Level, growth: Growth) -> Outcome:
    verdict, why = _moved(before, after, growth)
    if verdict is Verdict.WORSE:
        return Outcome(verdict, why=why)
    if growth.goes_on:
        return (
            _while_more_come(before, after, growth)
            if verdict is Verdict.BETTER
            else Outcome(verdict, why=why)
        )
    if growth.was_troubled and growth.outcome.verdict is Verdict.INCONCLUSIVE:
        why = f"{why}, but it cannot be told yet whether more come"
        return Outcome(Verdict.INCONCLUSIVE, needed_seconds=growth.outcome.needed_seconds, why=why)
    return Outcome(verdict, why=why)


def _while_more_come(before: Level, after: Level, growth: Growth) -> Outcome:
    """They fell, and come back: that is better only where they come back slower."""
    seconds = (before.value - after.value) / growth.after_per_second
    again = f"in {time_text(seconds)} there are as many again"
    if growth.outcome.verdict is Verdict.BETTER:
        return Outcome(Verdict.BETTER, why=f"they fell; fewer come than before, but {again}")
    how = "more come as before" if growth.was_troubled else "more come now"
    return Outcome(Verdict.UNCHANGED, why=f"they fell, but {how}: {again}")


def _moved(before: Level, after: Level, growth: Growth) -> tuple[Verdict, str]:
    if after.value <= CLEAR * before.value:
        return Verdict.BETTER, "they fell"
    # A leak that goes on adds to them: that is not worse than it was.
    seconds = (after.utc_ns - before.utc_ns) / 1e9
    grown = before.value + max(growth.before_per_second, 0.0) * seconds
    if after.value > grown / CLEAR + ZOMBIES.floor:
        return Verdict.WORSE, "they became more than they would have as before"
    return Verdict.UNCHANGED, "they did not fall"


def compare_running(before: Spans, after: Spans) -> Outcome:
    """Judge whether a unit runs less."""
    if not before.spans:
        return Outcome(Verdict.INCONCLUSIVE, why=f"before: {before.why_none}")
    if not after.spans:
        needed = 2 * UNIT_RUNS.pace_seconds
        return Outcome(Verdict.INCONCLUSIVE, needed_seconds=needed, why=f"after: {after.why_none}")
    was, now = before.per_second, after.per_second
    ratio = now / was if was else None
    if not was and not now:
        return Outcome(Verdict.UNCHANGED, why="it did not run before, and does not now")
    if now <= HALF * was:
        return Outcome(Verdict.BETTER, ratio, why="it runs no longer" if not now else "it runs less")
    if was <= HALF * now:
        return Outcome(Verdict.WORSE, ratio, why="it runs more than before")
    return Outcome(Verdict.UNCHANGED, ratio, why="it runs as before")
