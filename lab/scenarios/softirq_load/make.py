"""A flood of packets fills the core of the queue with softirqs."""

from __future__ import annotations

from functools import partial

from lab.faults.softirq_floods import softirq_flood
from lab.running.incident_play import Incident, busy, healthy_node, play_incident, stalling_queue
from lab.running.stage import Stage


def play(stage: Stage) -> None:
    """Flood the core of the queue; ask."""
    queue = stalling_queue()
    with healthy_node() as machine:
        play_incident(stage, Incident(machine, queue, partial(busy, stage, queue.cores[0], softirq_flood)))
