"""Did a roll-out help: what `necroscope fleet fixed` says."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.server.answers.fleet.interval import Interval


@dataclass(frozen=True, slots=True)
class GroupPeriod:
    """What happened to a group of hosts before or after."""

    hosts: int
    episodes: int
    host_hours: float


@dataclass(frozen=True, slots=True)
class FleetFixed:
    """Changed hosts and control hosts, before and after."""

    what: str
    begin_us: int
    at_us: int
    end_us: int
    changed_before: GroupPeriod
    changed_after: GroupPeriod
    control_before: GroupPeriod
    control_after: GroupPeriod
    ratio: float | None
    control_ratio: float | None
    ratio_of_ratios: float | None
    interval: Interval
    p_better: float | None
    p_halved: float | None
    verdict: str
    days_needed: float | None
    note: str
