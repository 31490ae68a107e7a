"""Who is next: what `necroscope fleet next` says."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.server.answers.fleet.interval import Interval


@dataclass(frozen=True, slots=True)
class HostForecast:
    """When a host reaches the wall, in seconds from the end of the range."""

    host: str
    outlook: str
    tracked: float
    zombies: int | None
    wall_level: int | None
    per_hour: float | None
    per_hour_interval: Interval | None
    seconds: float | None
    earliest_seconds: float | None
    latest_seconds: float | None  # null: no limit, where there are seconds
    hours_seen: float
    last_us: int


@dataclass(frozen=True, slots=True)
class FleetNext:
    """The hosts, the soonest first."""

    end_us: int
    hosts: int
    growing: int
    beyond: int
    forecasts: list[HostForecast]
    left_out: int
    note: str
