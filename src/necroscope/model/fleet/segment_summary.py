"""What the fleet knows of every segment of every host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SegmentSummary:
    """One segment in one row. None: it was not read; never zero instead."""

    host: str
    segment: str  # the name of its folder
    boot_id: str
    begin_us: int  # UTC
    end_us: int
    recorded_us: int  # of that time, what was really recorded: the exposure
    synchronised: bool  # whether the host's clock was held to be right
    cores: int
    samples: int
    saturated_core_us: int | None  # summed over the cores
    zombies: int | None  # memory cgroups, as they were last read in the segment
    tracked: int | None
    in_use: int | None
    wall_level: int | None  # so many tracked cgroups hurt this host
    facts: str  # id of the host's facts at that time; empty: not known
    events: Mapping[str, int]  # how many of each kind
