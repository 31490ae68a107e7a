"""How much of the failures of jobs the events of nodes explain: what `necroscope fleet jobs` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from necroscope.server.answers.fleet.interval import Interval

BlameName = Literal["node", "own", "unknown", "not checked"]


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A failed job and what it is put down to."""

    cluster: str
    id: str
    end_us: int | None
    blame: BlameName
    host: str
    event: str
    event_us: int | None
    seconds_before: float | None  # negative: after the end of the job
    by_chance: float | None
    sentence: str


@dataclass(frozen=True, slots=True)
class BlamesOfTime:
    """How many jobs failed in a column of time."""

    begin_us: int
    node: int
    own: int
    unknown: int
    not_checked: int


@dataclass(frozen=True, slots=True)
class FleetJobs:
    """All jobs of a range."""

    jobs: int
    ended: int
    failed: int
    checked: int
    own: int
    with_event: int
    expected: float
    attributed: int
    beyond_chance: bool
    excess: float
    excess_interval: Interval
    p: float | None
    success_rate: float | None
    success_rate_without: float | None
    step_us: int
    over_time: list[BlamesOfTime]
    failures: list[FailedJob]  # the newest first
    left_out: int
    note: str
