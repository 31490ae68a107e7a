"""What ran before events across the fleet: what `necroscope fleet culprit` says."""

from __future__ import annotations

from dataclasses import dataclass


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
