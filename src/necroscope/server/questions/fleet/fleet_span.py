"""Which events of which time a question about a fleet means."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.errors import UsageError
from necroscope.model.event import EVENT_KINDS
from necroscope.model.timestamp import HOUR_US

LONGEST_US = 35 * 24 * HOUR_US


@dataclass(frozen=True, slots=True)
class FleetSpan:
    """A stretch `begin_us <= time < end_us` of the time of a fleet, in UTC."""

    begin_us: int
    end_us: int
    kinds: tuple[str, ...] = ("nic-reset",)

    def __post_init__(self) -> None:
        if self.begin_us >= self.end_us:
            raise UsageError("the range ends before it begins", hint="begin_us must be less than end_us")
        if self.end_us - self.begin_us > LONGEST_US:
            raise UsageError("a fleet is asked about 35 days at most", hint="choose a shorter range")
        for kind in self.kinds:
            if kind not in EVENT_KINDS:
                raise UsageError("there are no such events", hint="necroscope list events")
