"""Watchdog timeouts and resets of every network device."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from necroscope.exporter.families import MAX_DEVICES, Sample
from necroscope.model.episode import Episode
from necroscope.model.event import Event
from necroscope.signals.episodes import Episodes
from necroscope.signals.reset_reason import REASONS
from necroscope.sources.nic_timeouts import NicTimeouts

OTHER = ("other", "")
# The line that says why may come after the first one, and a counter cannot be taken back.
REASON_WITHIN_NS = 2 * 10**9

Nic = tuple[str, str]  # device, driver


@dataclass(slots=True)
class NicMeter:
    """Devices keep their series once they have one, so that no counter vanishes on a reset."""

    episodes: Episodes
    timeouts: dict[Nic, int] = field(default_factory=dict)
    resets: dict[Nic, dict[str, int]] = field(default_factory=dict)  # by reason
    _drivers: dict[str, str] = field(default_factory=dict)  # as sysfs tells it, by device
    _uncounted: dict[str, tuple[Nic, Episode]] = field(default_factory=dict)  # by device

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
        """Take a nic-reset event."""
        device = event.device or event.bus
        nic = self._series(device, self._drivers.get(device, event.driver))
        episode = self.episodes.feed(event)
        if episode and episode.first is event:
            self._count(device)
            self._uncounted[device] = nic, episode
        elif episode and device in self._uncounted:
            self._uncounted[device] = nic, episode

    def settle(self, now_ns: int) -> None:
        """Count the episodes whose reason must be known by now."""
        for device, (_, episode) in [*self._uncounted.items()]:
            if now_ns - episode.begin_ns >= REASON_WITHIN_NS:
                self._count(device)

    def _count(self, device: str) -> None:
        if uncounted := self._uncounted.pop(device, None):
            nic, episode = uncounted
            self.resets[nic][episode.reason] += 1

    def _series(self, device: str, driver: str) -> Nic:
        nic = (device, driver)
        if nic not in self.resets:
            if len(self.resets) >= MAX_DEVICES:
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
