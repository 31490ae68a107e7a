"""Something that happened at a moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from necroscope.model.timestamp import iso_utc

EVENT_KINDS: dict[str, str] = {
    "nic-reset": "a network device stalled, was reset, or failed to reset",
    "soft-lockup": "a core ran kernel code for 20 s or more without scheduling",
    "hard-lockup": "a core did not even take interrupts for 10 s or more",
    "rcu-stall": "a core held up RCU for 21 s or more (59 or 60 s on some kernels)",
    "hung-task": "a task waited uninterruptibly for two minutes or more",
    "workqueue-hog": "a kernel work item kept a core for more than 10 ms, repeatedly",
    "workqueue-lockup": "a kernel worker pool made no progress for 30 s",
    "rt-throttling": "real-time tasks used up their share and were stopped (printed once per boot)",
    "oom-kill": "the kernel killed a process because memory ran out",
    "core-saturated": "a core was in the kernel for seconds in a row",
    "unit-restart": "systemd started a failed unit again",
    "cgroup-leak": "memory cgroups of one owner were removed and not freed, several within a minute",
    "capture-gap": "a stretch of time without samples or counters",
    "clock-step": "the wall clock was set, or the machine was suspended",
    "user-mark": "somebody wrote a mark to the kernel log: `echo necroscope mark: TEXT >/dev/kmsg`",
}
# Segments with events are kept longer: they are what somebody will come back for. Some kinds may come every
# ten seconds for ever, and give way to the others.
FREQUENT_KINDS = frozenset({"core-saturated", "unit-restart", "cgroup-leak"})
KEPT_KINDS = frozenset(EVENT_KINDS) - FREQUENT_KINDS - {"capture-gap", "clock-step"}


def worth_keeping(kinds: Iterable[str]) -> int:
    """How long to keep what had such events: 2 longest, 1 longer than other time, 0 not longer."""
    return max((2 if kind in KEPT_KINDS else int(kind in FREQUENT_KINDS) for kind in kinds), default=0)


@dataclass(frozen=True, slots=True)
class Event:
    """One event, with the raw line it was read from."""

    kind: str
    time_ns: int  # CLOCK_MONOTONIC
    rule: str  # which rule recognised it
    text: str
    sequence: int = 0  # tells apart two events of the same moment
    from_user_space: bool = False  # written to /dev/kmsg by a program, not by the kernel
    phase: str = ""  # of a reset: stall, reset, done, failed
    device: str = ""
    bus: str = ""  # the device's bus address
    driver: str = ""
    queue: int | None = None
    core: int | None = None
    process: str = ""
    reason: str = ""  # what the line gives as the cause: a function, an error number
    pid: int | None = None
    stall_seconds: float | None = None
    napi_scheduled: bool | None = None
    seconds: float | None = None  # how long it lasted, of an event that has a length
    unit: str = ""  # the systemd unit
    device_driver: str = ""  # the one that the device really has, if the line names another


def event_id(event: Event, utc_ns: int) -> str:
    """The name of an event that happened at a time of day; it can be given to `--around`."""
    when = iso_utc(utc_ns).replace("-", "").replace(":", "")
    return f"{event.kind}-{when}-{event.sequence}"
