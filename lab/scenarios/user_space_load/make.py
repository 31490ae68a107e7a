"""A loop in user space on the core of the queue: it delays others, and the kernel's network work not."""

from __future__ import annotations

from functools import partial

from lab.faults.hogs import user_hog
from lab.running.incident_play import Incident, busy, healthy_node, play_incident, stalling_queue
from lab.running.stage import Stage


def play(stage: Stage) -> None:
    """Fill the core of the queue from user space; ask."""
    queue = stalling_queue()
    with healthy_node() as machine:
        play_incident(stage, Incident(machine, queue, partial(busy, stage, queue.cores[0], user_hog)))
