"""The core of the queue is in the kernel for the whole time, and its softirqs run all the same."""

from __future__ import annotations

from functools import partial

from lab.faults.hogs import kernel_hog
from lab.faults.kernel_lines import write_lines
from lab.running.incident_play import (
    Incident,
    busy,
    healthy_node,
    other_core,
    play_incident,
    stalling_queue,
)
from lab.running.stage import Stage
from necroscope.sources.nic_queues import NicQueue

STALLED_MILLISECONDS = 5_180


def play(stage: Stage) -> None:
    """Keep the core of the queue in the kernel, and write a line that does not speak of NAPI; ask."""
    queue = stalling_queue()
    with healthy_node() as machine:
        fault = partial(busy, stage, queue.cores[0], kernel_hog)
        play_incident(stage, Incident(machine, queue, fault, write_watchdog_line))


def write_watchdog_line(queue: NicQueue) -> None:
    """What the kernel says of any driver's queue; the CPU is that of its timer."""
    who = f"{queue.driver} {queue.bus} {queue.device}"
    what = f"transmit queue {queue.queue} timed out {STALLED_MILLISECONDS} ms"
    write_lines([f"{who}: NETDEV WATCHDOG: CPU: {other_core(queue)}: {what}"])
