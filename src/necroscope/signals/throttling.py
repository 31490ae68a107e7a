"""How long cgroups were stopped by their own CPU quota.

The only place that subtracts cpu.stat. A cgroup that was not read before counts from its first reading on: it
may be old, and its quota new. A count that fell is of another cgroup with the same path, and counts from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from necroscope.signals.counter_steps import Steps
from necroscope.sources.throttling import THROTTLING, Throttling
from necroscope.store.segment import Moment, Segment, Step


@dataclass(frozen=True, slots=True)
class Throttled:
    """What one cgroup lost in some time."""

    path: str
    periods: int
    throttled_periods: int
    seconds: float  # lost, of all its threads

    @property
    def ratio(self) -> float:
        """The share of its quota periods in which it was stopped."""
        return self.throttled_periods / self.periods if self.periods else 0.0


@dataclass(slots=True)
class ThrottledTime:
    """A fold over samples: what every cgroup of the newest reading has lost since its first."""

    _steps: Steps[Throttling] = field(default_factory=lambda: Steps(THROTTLING))
    _lost: dict[str, Throttled] = field(default_factory=dict)

    def feed(self, sample: Moment) -> dict[str, Throttled]:
        """Take the next sample; return what was lost so far, by cgroup."""
        if step := self._steps.feed(sample):
            self._lost = {one.path: _sum(self._lost.get(one.path), one) for one in throttled_in(step)}
        return self._lost


def over(segment: Segment) -> dict[str, Throttled]:
    """Return what the cgroups of the last reading of a segment lost in it, by the fold that runs live."""
    time, lost = ThrottledTime(), dict[str, Throttled]()
    for sample in segment.moments:
        lost = time.feed(sample)
    return lost


def throttled_in(step: Step[Throttling]) -> Iterator[Throttled]:
    """Return what every cgroup of both readings lost between them."""
    earlier = {cgroup.path: cgroup for cgroup in step.before.value}
    for now in step.after.value:
        if was := earlier.get(now.path):
            is_another = now.periods < was.periods or now.throttled_seconds < was.throttled_seconds
            old = (0, 0, 0.0) if is_another else (was.periods, was.throttled_periods, was.throttled_seconds)
            yield Throttled(
                now.path, now.periods - old[0], now.throttled_periods - old[1], now.throttled_seconds - old[2]
            )


def _sum(one: Throttled | None, other: Throttled) -> Throttled:
    if one is None:
        return other
    return Throttled(
        one.path,
        one.periods + other.periods,
        one.throttled_periods + other.throttled_periods,
        one.seconds + other.seconds,
    )
