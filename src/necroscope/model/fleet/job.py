"""A job of a cluster, and how much of the failures of jobs the events of nodes explain: `fleet jobs`."""

from __future__ import annotations

import enum
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Job:
    """One job. Its end is when the cluster noticed it."""

    cluster: str
    id: str
    status: str  # SUCCEEDED, FAILED, STOPPED, RUNNING, PENDING
    begin_us: int | None
    end_us: int | None
    hosts: tuple[str, ...]  # that it ran on, by the names of the fleet
    error_type: str
    exit_code: int | None
    message: str  # the end of what it said


class Blame(enum.Enum):
    """What a failed job is put down to."""

    NODE = "node"  # an event on one of its hosts in the window before its end, and nothing speaks against it
    OWN = "own"  # what it said shows that it failed by itself
    UNKNOWN = "unknown"  # no event in the window
    NOT_CHECKED = "not checked"  # its hosts are not known, or not recorded then


@dataclass(frozen=True, slots=True)
class JobBlame:
    """A failed job and what it is put down to."""

    job: Job
    blame: Blame
    host: str  # of the event
    event: str  # its id
    kind: str
    seconds_before: float | None  # the end of the job
    by_chance: float  # the probability of such an event in the window, by the rate of events on its hosts
    sentence: str


@dataclass(frozen=True, slots=True)
class Jobs:
    """All jobs of a range."""

    begin_us: int
    end_us: int
    kinds: tuple[str, ...]
    jobs: int
    ended: int  # succeeded or failed
    failed: int
    checked: int  # failed ones of which it could be told
    with_event: int  # failed ones with an event in their window
    expected: float  # of them by chance
    attributed: int
    excess: float  # attributed less expected
    excess_interval: tuple[float, float]  # 95 %
    p: float  # that chance alone gives so many
    success_rate: float | None
    success_rate_without: float | None  # had the attributed excess not failed
    blames: tuple[JobBlame, ...]  # failed jobs, the newest first
    note: str
