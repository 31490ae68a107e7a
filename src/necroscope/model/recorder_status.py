"""How a running recorder is: what it writes, what it could not, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnCost:
    """What one part of the recorder took since it began."""

    part: str  # recorder, perf, sealing, shipping, reporting
    cpu_seconds: float
    resident_bytes: int  # now; 0 where it does not run


@dataclass(frozen=True, slots=True)
class ShipStatus:
    """How shipping to the fleet goes. Counters count from the recorder's start."""

    sent: int = 0  # parts
    given_up: int = 0
    failures: int = 0
    waiting: int = 0  # parts in the spool, as of the last run
    last_success_us: int = 0  # when all had arrived, UTC; 0: not known
    error: str = ""  # why not all has arrived; empty: it has
    problems: str = ""  # what cannot be sent at all
    every_seconds: float = 0.0  # between two runs, as it is set


@dataclass(frozen=True, slots=True)
class KubernetesStatus:
    """How reporting to the cluster goes. Counters count from the recorder's start."""

    ok: int = 0  # reports that told all there was
    refused: int = 0  # somebody has to mend it: rights, a policy, the name of the node
    failed: int = 0  # the API server was away or too busy
    waiting: int = 0  # events that have not been told yet, as of the last report
    dropped: int = 0  # events that will not be told: too many or too old
    last_success_us: int = 0  # UTC; 0: not yet
    error: str = ""  # why the last report was not heard; empty: it was
    problems: str = ""  # what it could not say, though it was
    every_seconds: float = 0.0  # between two reports, as it is set


@dataclass(frozen=True, slots=True)
class Status:
    """One look at the recorder. Counters count from its start."""

    begin_utc_ns: int
    moments: int
    segments_sealed: int
    segments_waiting: int  # closed, not sealed yet
    store_bytes: int  # what all segments of this host take, as of the last sealing
    store_error: str  # why nothing can be written now; empty: it can
    frames_waiting: int  # in memory, because they cannot be written
    frames_dropped: int  # gave up, because memory is bounded
    profiling: str  # how samples are taken: `cycles at 97 Hz`; empty: they are not
    profiling_error: str  # why not
    perf_starts: int
    gaps: int
    gap_seconds: float  # also of the time in which no recorder ran before
    costs: tuple[OwnCost, ...]
    sealing_error: str = ""  # why closed segments cannot be sealed now with all that is in them
    segments_incomplete: int = 0  # sealed without names of programs or samples: a child hung or died on them
    gaps_before: int = 0  # of the gaps: those before this recorder began
    gap_seconds_before: float = 0.0
    is_flight: bool = False  # all is kept in memory until an event fires
    findings_error: str = ""  # why it is not known what is wrong with the node now
    ship: ShipStatus | None = None  # None: nothing is shipped
    kubernetes: KubernetesStatus | None = None  # None: nothing is reported
    userspace_lines: int | None = None  # in the kernel log, that read like its own; None: no log was read
