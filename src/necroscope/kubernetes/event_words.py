"""What the cluster is told of an event: what happened, how long, and the core behind it where it is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from necroscope.model.event import Event
from necroscope.signals.kernel_log_events import line_doubts
from necroscope.signals.queue_cpus import QueueCpus
from necroscope.signals.reset_reason import REASONS, reset_reason, stronger

LONGEST_LINE = 300
BUSY_BEFORE_NS = 30 * 10**9  # a core that was full so shortly before a stall is named with it
PHASES = {"stall": "stalled", "reset": "was reset", "failed": "could not be reset"}


@dataclass(frozen=True, slots=True)
class Busy:
    """A core that was full."""

    begin_ns: int
    seconds: float
    text: str


def line_words(event: Event) -> str:
    """The kernel's own line."""
    return f"{event.text[:LONGEST_LINE]}{line_doubts(event)}"


@dataclass(slots=True)
class NicWords:
    """What the lines of a series say together about a network device."""

    device: str
    driver: str
    first: Event
    last_trouble_ns: int
    phases: dict[str, None] = field(default_factory=dict)  # in the order in which they came
    queues: set[int] = field(default_factory=set)
    cores: set[int] = field(default_factory=set)
    stall_seconds: float = 0.0
    back_seconds: float | None = None
    reason: str = "watchdog"
    starved_seconds: float = 0.0  # so long NAPI must have waited to be called starved

    @classmethod
    def of(cls, event: Event, starved_seconds: float) -> Self:
        """The first line."""
        device = event.device or event.bus or "a network device"
        words = cls(device, event.driver, event, event.time_ns, starved_seconds=starved_seconds)
        words.add(event)
        return words

    def add(self, event: Event) -> None:
        """Another line of the same device."""
        if event.phase == "done":
            self.back_seconds = max(event.time_ns - self.last_trouble_ns, 0) / 1e9
            return
        self.back_seconds = None
        if event.phase in ("stall", ""):
            self.last_trouble_ns = event.time_ns
        self.phases[event.phase] = None
        self.queues |= {event.queue} if event.queue is not None else set()
        self.cores |= {event.core} if event.core is not None else set()
        self.stall_seconds = max(self.stall_seconds, event.stall_seconds or 0.0)
        self.reason = stronger(self.reason, reset_reason(event, self.starved_seconds))

    def text(self, serving: QueueCpus, busy: Mapping[int, Busy]) -> str:
        """All of it in a sentence."""
        name = f"{self.device} ({self.driver})" if self.driver else self.device
        numbers = ", ".join(map(str, sorted(self.queues)))
        where = f" queue{'s' if len(self.queues) > 1 else ''} {numbers}" if self.queues else ""
        did = " and ".join(PHASES[one] for one in self.phases if one in PHASES) or "stalled"
        parts = [f"{name}{where} {did}{line_doubts(self.first)}"]
        if self.stall_seconds:
            parts.append(f"{self.stall_seconds:.1f} s without progress")
        if self.reason != "watchdog":
            parts.append(REASONS[self.reason])
        if self.back_seconds is not None:
            parts.append(f"back after {self.back_seconds:.1f} s")
        return "; ".join([*parts, *self._cores(serving, busy)])

    def _cores(self, serving: QueueCpus, busy: Mapping[int, Busy]) -> list[str]:
        cores = self.cores.union(*(serving.cpus(self.device, queue) for queue in self.queues))
        if not cores:
            return []
        numbers = ", ".join(map(str, sorted(cores)))
        full = [busy[core].text for core in sorted(cores) if core in busy and self._was_then(busy[core])]
        return [f"core{'s' if len(cores) > 1 else ''} {numbers} behind it", *full]

    def _was_then(self, busy: Busy) -> bool:
        end_ns = busy.begin_ns + int(busy.seconds * 1e9)
        return busy.begin_ns <= self.last_trouble_ns <= end_ns + BUSY_BEFORE_NS
