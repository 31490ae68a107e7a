"""How many memory cgroups the kernel tracks, and where that leads."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.server.answers.damaged import Damaged


@dataclass(frozen=True, slots=True)
class Forecast:
    """How fast the zombies grow, and when it will hurt."""

    per_hour: float
    low_per_hour: float
    high_per_hour: float
    text: str
    wall_us: int | None  # when it will hurt; None where that is not in sight


@dataclass(frozen=True, slots=True)
class Zombies:
    """Counts at some moments of a range; None marks a hole in the recording."""

    times_us: list[int]
    tracked: list[int | None]
    in_use: list[int | None]
    zombies: list[int | None]
    forecast: Forecast | None
    why_none: str  # why there is no forecast
    damaged: list[Damaged]
