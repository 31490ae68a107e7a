"""The line that ENA writes when a transmit queue stands still, for a queue that this machine has.

The line is all that is made: the queue goes on, and the interface is whatever this machine has. Its words are
fixed: "Time since last napi 5100000" and "napi scheduled: 1" are not measured of anything.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from lab.faults.kernel_lines import why_not as why_no_lines
from lab.faults.kernel_lines import write_lines
from necroscope.sources.host import Host
from necroscope.sources.nic_queues import NicQueue, open_nic_queues

STALL_SECONDS = 5.1  # said, not measured: just beyond what the driver waits
NO_PCI = "0000:00:05.0"  # what ENA has on most instances, for devices on another bus


@dataclass(frozen=True, slots=True)
class Stall:
    """What was written, and when by CLOCK_MONOTONIC."""

    queue: NicQueue
    core: int  # that serves the queue
    line: str
    time_ns: int


def why_not() -> str | None:
    """Why no queue can be said to stall here, or None."""
    if reason := why_no_lines():
        return reason
    return None if transmit_queues() else "no transmit queue's interrupt can be found here"


def transmit_queues() -> tuple[NicQueue, ...]:
    """The transmit queues whose core is known."""
    queues = open_nic_queues(Host())().value or ()
    return tuple(queue for queue in queues if queue.direction != "rx" and len(queue.cores) == 1)


def stall_line(queue: NicQueue, *, napi_scheduled: bool = True) -> str:
    """What the driver would say: its poll was due and did not run, or it was never asked to."""
    last_us = round(STALL_SECONDS * 1e6)
    return (
        f"ena {_pci_address(queue.device)} {queue.device}: TX q {queue.queue} is paused for too long"
        f" (threshold 5000000). Time since last napi {last_us} usec."
        f" napi scheduled: {int(napi_scheduled)}"
    )


def write_stall(queue: NicQueue, *, napi_scheduled: bool = True) -> Stall:
    """Write the line into the kernel log."""
    line = stall_line(queue, napi_scheduled=napi_scheduled)
    time_ns = time.monotonic_ns()
    write_lines([line])
    return Stall(queue, queue.cores[0], line, time_ns)


def _pci_address(device: str) -> str:
    """The address of the device, or of the one that it is a part of (virtio)."""
    place = Path(f"/sys/class/net/{device}/device").resolve()
    found = re.findall(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", str(place))
    return found[-1] if found else NO_PCI
