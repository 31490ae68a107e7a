"""Watchdog timeouts and resets of every network device."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from necroscope.exporter.families import Sample
from necroscope.exporter.reset_reason import REASONS, reset_reason, stronger
from necroscope.model.event import Event
from necroscope.sources.nic_timeouts import NicTimeouts

MOST_DEVICES = 64  # names can be made up in the kernel log, and a node may have hundreds of virtual functions
OTHER = ("other", "")
# A driver that has seen a stall resets within seconds, and says so in several lines. What goes on for longer
# is another one: a queue that its watchdog resets every 5 s must not look like a single reset.
EPISODE_NS = 10 * 10**9
# The line that says why may come after the first one, and a counter cannot be taken back.
REASON_WITHIN_NS = 2 * 10**9
STARVED_SECONDS = 4.0  # as nic-reset.starved_seconds is shipped

Nic = tuple[str, str]  # device, driver


@dataclass(slots=True)
class _Episode:
    """A stall and what follows it."""

    begin_ns: int
    reason: str
    is_counted: bool = False


@dataclass(slots=True)
class NicMeter:
    """Devices keep their series once they have one, so that no counter vanishes on a reset."""

    starved_seconds: float = STARVED_SECONDS
    timeouts: dict[Nic, int] = field(default_factory=dict)
    resets: dict[Nic, dict[str, int]] = field(default_factory=dict)  # by reason
    _drivers: dict[str, str] = field(default_factory=dict)  # as sysfs tells it, by device
    _episodes: dict[Nic, _Episode] = field(default_factory=dict)  # the newest of each

    def observe_timeouts(self, queues: NicTimeouts) -> None:
        """Take the kernel's counters; every device has its count of resets from now on, be it 0."""
        timeouts: dict[Nic, int] = defaultdict(int)
        for queue in queues:
            timeouts[self._series(queue.device, queue.driver)] += queue.timeouts
        self.timeouts = timeouts
        self._drivers = {queue.device: queue.driver for queue in queues}

    def forget_timeouts(self) -> None:
        """There is no reading."""
        self.timeouts = {}

    def observe_event(self, event: Event) -> None:
        """Take a nic-reset event: a new episode, or more of the one before it."""
        device = event.device or event.bus
        nic = self._series(device, self._drivers.get(device, event.driver))
        reason = reset_reason(event, self.starved_seconds)
        episode = self._episodes.get(nic)
        if event.phase == "done":
            self._end(nic)
        elif episode and event.time_ns - episode.begin_ns <= EPISODE_NS:
            episode.reason = stronger(episode.reason, reason)
        else:
            self._end(nic)
            self._episodes[nic] = _Episode(event.time_ns, reason)

    def settle(self, now_ns: int) -> None:
        """Count the episodes whose reason must have been told by now."""
        for nic, episode in self._episodes.items():
            if now_ns - episode.begin_ns >= REASON_WITHIN_NS:
                self._count(nic, episode)

    def _end(self, nic: Nic) -> None:
        if episode := self._episodes.pop(nic, None):
            self._count(nic, episode)

    def _count(self, nic: Nic, episode: _Episode) -> None:
        if not episode.is_counted:
            episode.is_counted = True
            self.resets[nic][episode.reason] += 1

    def _series(self, device: str, driver: str) -> Nic:
        nic = (device, driver)
        if nic not in self.resets:
            if len(self.resets) >= MOST_DEVICES:
                nic = OTHER
            self.resets.setdefault(nic, dict.fromkeys(REASONS, 0))
        return nic

    def timeout_samples(self) -> Iterator[Sample]:
        """The kernel's counters."""
        for nic, count in self.timeouts.items():
            yield Sample("necroscope_nic_timeouts_total", nic, count)

    def reset_samples(self) -> Iterator[Sample]:
        """Our own count."""
        for nic, reasons in self.resets.items():
            for reason, count in reasons.items():
                yield Sample("necroscope_nic_resets_total", (*nic, reason), count)
