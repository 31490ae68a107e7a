"""What the server answers about a fleet. What is infinite or not a number is null.

Nothing but shapes: the server has them without loading what only a fleet needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Whereabouts = Literal["here", "brought", "not shipped", "unknown host"]
StandingName = Literal["concentrates", "spared", "follows", "not shown"]
BlameName = Literal["node", "own", "unknown", "not checked"]


@dataclass(frozen=True, slots=True)
class Interval:
    """95 %. Null: nothing limits it on that side."""

    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class FleetLabel:
    """A fact by which hosts can be grouped."""

    name: str  # section/name, as in drift
    values: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """What a host has sent that is none of ours, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """What can be asked about."""

    place: str  # its address, without secrets; hidden if it is a folder
    begin_us: int  # of the first hour of the tables
    end_us: int  # of the newest second
    made_us: int  # when the tables were made
    hosts: int
    kinds: dict[str, int]  # events of each kind
    labels: list[FleetLabel]
    rejected: list[Rejected]  # the first of many
    rejected_parts: int
    has_jobs: bool
    trouble: str  # why what is shown may be old; empty: it is not
    now_us: int


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


@dataclass(frozen=True, slots=True)
class FleetEvent:
    """An event of a host of the fleet."""

    id: str
    host: str
    kind: str
    time_us: int
    text: str
    device: str
    core: int | None
    is_shipped: bool  # its whole segment is in the place


@dataclass(frozen=True, slots=True)
class FleetEvents:
    """The first of each episode, the newest first."""

    events: list[FleetEvent]
    left_out: int


@dataclass(frozen=True, slots=True)
class FleetMoment:
    """Where the recording is, and how to ask the host for it."""

    whereabouts: Whereabouts
    segments: int  # that touch the range
    command: str  # has the host send it; empty: it is here


@dataclass(frozen=True, slots=True)
class ExposedHosts:
    """Hosts, and what happened to them."""

    hosts: int
    affected: int
    episodes: int
    host_hours: float


@dataclass(frozen=True, slots=True)
class FleetConcentration:
    """One value of one label, against all others of it."""

    label: str
    value: str
    inside: ExposedHosts
    outside: ExposedHosts
    rate_ratio: float | None
    interval: Interval
    p: float | None
    q: float | None  # null: in too few hosts to be tested
    standing: StandingName
    ratio_among_alike: float | None
    interval_among_alike: Interval | None
    follows: list[str]
    cannot_tell_apart_from: list[str]
    sentence: str


@dataclass(frozen=True, slots=True)
class FleetWhere:
    """The values of all labels, the likeliest cause first."""

    kinds: list[str]
    total: ExposedHosts
    tested: int
    concentrations: list[FleetConcentration]
    left_out: int  # of the end of the list
    unknown_hosts: int
    note: str


@dataclass(frozen=True, slots=True)
class FleetSuspect:
    """A process, a kernel function, or a pair, over many events of many hosts."""

    kind: str
    process: str
    function: str
    events: int
    hosts: int
    of_events: int
    of_hosts: int
    share: float
    quiet_share: float
    lift: float | None
    p: float | None
    q: float | None
    is_significant: bool
    way: str


@dataclass(frozen=True, slots=True)
class EventNotCompared:
    """An event whose samples are not there, or that has nothing to be compared with."""

    host: str
    event: str
    why: str


@dataclass(frozen=True, slots=True)
class FleetCulprits:
    """The suspects, what is common to the most hosts first."""

    events: int
    compared: int
    hosts: int
    culprit: FleetSuspect | None
    suspects: list[FleetSuspect]
    not_compared: list[EventNotCompared]
    note: str


@dataclass(frozen=True, slots=True)
class ValueByGroup:
    """How many hosts of each group have a value; null: the fact is not there."""

    value: str | None
    hosts: list[int]  # in the order of the groups


@dataclass(frozen=True, slots=True)
class FleetDifference:
    """A fact that is not the same everywhere."""

    fact: str
    summary: str
    relevance: str
    matters: bool
    why: str
    q: float | None
    odds_ratio: float | None
    interval: Interval | None
    p_among_alike: float | None
    values: list[ValueByGroup]  # the most frequent first
    cannot_tell_apart_from: list[str]
    explained_by: list[str]


@dataclass(frozen=True, slots=True)
class DriftGroup:
    """A group of hosts."""

    name: str
    hosts: int


@dataclass(frozen=True, slots=True)
class FleetDrift:
    """All differences, the likeliest to matter first."""

    groups: list[DriftGroup]
    symptom: str
    facts: int
    differences: list[FleetDifference]
    left_out: int
    note: str


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
