"""A loop of long system calls on another core than that of the queue."""

from __future__ import annotations

from functools import partial

from lab.faults.hogs import kernel_hog
from lab.running.incident_play import (
    Incident,
    busy,
    healthy_node,
    other_core,
    play_incident,
    stalling_queue,
)
from lab.running.stage import Stage


def play(stage: Stage) -> None:
    """Keep another core in the kernel; ask."""
    queue = stalling_queue()
    with healthy_node() as machine:
        play_incident(stage, Incident(machine, queue, partial(busy, stage, other_core(queue), kernel_hog)))
