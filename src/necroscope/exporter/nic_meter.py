"""Watchdog timeouts and resets of every network device."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from necroscope.exporter.families import Sample
from necroscope.model.event import Event
from necroscope.sources.nic_timeouts import NicTimeouts

MOST_DEVICES = 64  # names can be made up in the kernel log, and a node may have hundreds of virtual functions
OTHER = ("other", "")
# A driver that has seen a stall resets within seconds, and says so in several lines.
EPISODE_NS = 10 * 10**9

Nic = tuple[str, str]  # device, driver


@dataclass(slots=True)
class NicMeter:
    """Devices keep their series once they have one, so that no counter vanishes on a reset."""

    timeouts: dict[Nic, int] = field(default_factory=dict)
    resets: dict[Nic, int] = field(default_factory=dict)
    _drivers: dict[str, str] = field(default_factory=dict)  # as sysfs tells it, by device
    _stalled_ns: dict[Nic, int] = field(default_factory=dict)  # the last line of an episode under way

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
        """Count a nic-reset event, unless it tells more of the episode before it."""
        device = event.device or event.bus
        nic = self._series(device, self._drivers.get(device, event.driver))
        if event.phase == "done":
            self._stalled_ns.pop(nic, None)
            return
        last_ns = self._stalled_ns.get(nic)
        if last_ns is None or event.time_ns - last_ns > EPISODE_NS:
            self.resets[nic] += 1
        self._stalled_ns[nic] = event.time_ns

    def _series(self, device: str, driver: str) -> Nic:
        nic = (device, driver)
        if nic not in self.resets:
            if len(self.resets) >= MOST_DEVICES:
                nic = OTHER
            self.resets.setdefault(nic, 0)
        return nic

    def timeout_samples(self) -> Iterator[Sample]:
        """The kernel's counters."""
        for nic, count in self.timeouts.items():
            yield Sample("necroscope_nic_timeouts_total", nic, count)

    def reset_samples(self) -> Iterator[Sample]:
        """Our own count."""
        for nic, count in self.resets.items():
            yield Sample("necroscope_nic_resets_total", nic, count)
