"""What ran before events across the fleet: the answer of `fleet culprit`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommonSuspect:
    """A process, a kernel function, or a pair, over many events of many hosts."""

    kind: str  # process, function, pair
    process: str  # without the numbers of its kind: ksoftirqd/*
    function: str
    events: int  # in which it stood out against the quiet seconds of the same host
    hosts: int  # on which that was so more often than chance would have it
    of_events: int  # events that could be compared
    of_hosts: int
    share: float  # of the cores' time, mean over hosts; an event in which it ran no more than usual counts 0
    quiet_share: float
    lift: float | None  # None: in no quiet second
    p: float  # that so many hosts have it by chance
    q: float
    is_significant: bool
    way: str = ""  # of a function: self, or inclusive of what it calls


@dataclass(frozen=True, slots=True)
class NotCompared:
    """An event whose samples are not there, or that has nothing to be compared with."""

    host: str
    event: str
    why: str


@dataclass(frozen=True, slots=True)
class CommonCulprits:
    """The suspects, what is common to the most hosts first."""

    kinds: tuple[str, ...]
    begin_us: int
    end_us: int
    events: int  # in the range; those of an episode are one
    compared: int
    hosts: int  # of those compared
    suspects: tuple[CommonSuspect, ...]
    culprit: CommonSuspect | None
    not_compared: tuple[NotCompared, ...]  # the first of many
    note: str
