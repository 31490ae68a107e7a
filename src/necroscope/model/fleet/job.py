"""A job of a cluster, and how much of the failures of jobs the events of nodes explain: `fleet jobs`."""

from __future__ import annotations

import enum
from dataclasses import dataclass

SUCCEEDED, FAILED = "SUCCEEDED", "FAILED"
ENDED = "ENDED"  # of which the cluster does not know how: a driver that was not submitted


@dataclass(frozen=True, slots=True)
class Job:
    """One job. Its end is when the cluster noticed it."""

    cluster: str
    id: str
    status: str  # SUCCEEDED, FAILED, STOPPED, RUNNING, PENDING, ENDED
    begin_us: int | None
    end_us: int | None
    hosts: tuple[str, ...]  # that it ran on, by the names of the fleet
    unknown_nodes: tuple[str, ...]  # that it ran on, too, by the names of the cluster
    error_type: str
    exit_code: int | None
    message: str  # the end of what it said, and how its tasks ended


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
    host: str  # of the event that is nearest to its end; empty: there was none
    event: str  # its id
    kind: str
    seconds_before: float | None  # the end of the job; negative: the event came after it
    by_chance: float | None  # the probability of an event in the window, by the events of its hosts
    sign: str  # the rule that what it said matches
    sentence: str


@dataclass(frozen=True, slots=True)
class ChanceCheck:
    """Jobs that no node has failed: how many had an event in their window, and by chance should have had."""

    jobs: int
    with_event: int
    expected: float
    p: float  # that chance alone gives so many


@dataclass(frozen=True, slots=True)
class Jobs:
    """All jobs of a range."""

    begin_us: int
    end_us: int
    kinds: tuple[str, ...]
    window_seconds: tuple[float, float]  # before the end of a job, and after it
    jobs: int
    ended: int  # succeeded or failed
    failed: int
    checked: int  # failed ones of which it could be told
    own: int  # of them, by themselves
    with_event: int  # of those checked, with an event in their window
    attributed: int  # of them, to a node
    expected: float  # by chance alone, of those checked that did not fail by themselves
    excess: float  # of the attributed, not by chance
    excess_interval: tuple[float, float]  # 95 %
    p: float  # that chance alone gives so many
    beyond_chance: bool
    success_rate: float | None
    success_rate_without: float | None  # had the excess not failed
    success_rate_without_interval: tuple[float, float] | None
    check: ChanceCheck  # of jobs that succeeded: holds where chance was estimated well
    blames: tuple[JobBlame, ...]  # failed jobs, the newest first
    note: str
