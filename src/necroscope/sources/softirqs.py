"""Softirqs run on every core.

Reads    /proc/softirqs
Needs    nothing
Costs    one read: 0.1 ms

                    CPU0       CPU1
          HI:          0          0
      NET_RX:        618        798
"""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.reading import Reading
from necroscope.sources.host import Host, whole_lines
from necroscope.sources.source import Read, Source


@dataclass(frozen=True, slots=True)
class CoreSoftirqs:
    """How often each kind of softirq ran on one core since boot."""

    core: int
    net_rx: int
    net_tx: int
    timer: int


Softirqs = tuple[CoreSoftirqs, ...]


def parse_softirqs(text: str) -> Softirqs:
    """Parse /proc/softirqs. The columns are all possible cores, in the order of the head line."""
    head, *rows = whole_lines(text)
    cores = [int(name.removeprefix("CPU")) for name in head.split()]
    if not cores:
        raise ValueError("no head line that names the cores")
    counts = {}
    for row in rows:
        name, _, values = row.partition(":")
        counts[name.strip()] = [int(value) for value in values.split()]
    return tuple(
        CoreSoftirqs(core, counts["NET_RX"][i], counts["NET_TX"][i], counts["TIMER"][i])
        for i, core in enumerate(cores)
    )


def open_softirqs(host: Host) -> Read[Softirqs]:
    """A reader of the softirq counts of every core."""

    def read() -> Reading[Softirqs]:
        return host.read("/proc/softirqs").parsed(parse_softirqs)

    return read


SOFTIRQS = Source("softirqs", open_softirqs)
