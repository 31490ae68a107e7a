"""Who is next: when each host reaches the wall. The answer of `fleet next`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Forecast:
    """One host. Seconds count from the end of what was asked."""

    host: str
    outlook: str  # as in necroscope.diagnosis.zombies.wall.Outlook
    tracked: float
    zombies: int | None
    wall_level: int | None
    per_hour: float | None  # growth of the tracked cgroups, its interval of 95 %
    per_hour_interval: tuple[float, float] | None
    seconds: float | None  # to the wall
    earliest_seconds: float | None
    latest_seconds: float | None  # infinite where the slope may be nearly zero
    hours_seen: float  # that the trend is made of
    last_us: int  # when the host was seen last


@dataclass(frozen=True, slots=True)
class Next:
    """All hosts, the soonest first, then those with no trend."""

    begin_us: int
    end_us: int
    hosts: int
    growing: int
    beyond: int
    forecasts: tuple[Forecast, ...]
    note: str
