"""Groups of hosts over time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FleetGroup:
    """The hosts with one value of a label, over the whole range."""

    name: str  # the value; of those with none, in words
    is_unknown: bool  # the facts of these hosts are not known
    hosts: int
    affected: int
    episodes: int
    host_hours: float


@dataclass(frozen=True, slots=True)
class FleetMap:
    """For each group a row of columns. Arrays are groups x columns, row by row, in base64.

    Nothing is recorded where the seconds are 0.
    """

    label: str
    kinds: list[str]
    begin_us: int
    step_us: int  # whole hours
    columns: int
    groups: list[FleetGroup]  # the one with the highest rate first, those of which nothing is known last
    left_out: int  # values with the fewest hosts, which are one group together
    episodes: str  # u32
    affected: str  # u32: hosts with an episode in the column
    recorded_seconds: str  # u32, summed over the hosts
