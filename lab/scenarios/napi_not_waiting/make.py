"""The core of the queue is in the kernel all the time, but the driver says that nothing waited for it."""

from __future__ import annotations

from functools import partial

from lab.faults.hogs import kernel_hog
from lab.faults.nic_stalls import write_stall
from lab.running.incident_play import Incident, busy, healthy_node, play_incident, stalling_queue
from lab.running.stage import Stage


def play(stage: Stage) -> None:
    """Keep the core of the queue in the kernel, and write the other line; ask."""
    queue = stalling_queue()
    line = partial(write_stall, napi_scheduled=False)
    with healthy_node() as machine:
        fault = partial(busy, stage, queue.cores[0], kernel_hog)
        play_incident(stage, Incident(machine, queue, fault, line))
