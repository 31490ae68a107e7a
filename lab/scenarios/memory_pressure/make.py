"""The node has hardly any memory left, and the core of the queue is not full."""

from __future__ import annotations

from functools import partial

from lab.faults.short_memory import memory, short_memory
from lab.running.incident_play import (
    FEW_SECONDS,
    Incident,
    busy,
    healthy_node,
    other_core,
    play_incident,
    stalling_queue,
)
from lab.running.stage import Stage

SHORT_RATIO = 0.05  # of all memory
LINE_AFTER_SECONDS = (
    6.5  # taking the memory is work by itself, and over before the seconds that are looked at
)


def play(stage: Stage) -> None:
    """Take the memory, read more than fits into the rest, and ask."""
    queue = stalling_queue()
    stage.results["made"] = {"short_bytes": int(memory()["MemTotal"] * SHORT_RATIO)}
    fault = partial(busy, stage, other_core(queue), short_memory)
    with (
        healthy_node() as machine,
        stage.gauge("memory available", lambda: f"{memory()['MemAvailable'] / 1e9:.1f} GB"),
    ):
        incident = Incident(
            machine, queue, fault, quiet_seconds=FEW_SECONDS, line_after_seconds=LINE_AFTER_SECONDS
        )
        play_incident(stage, incident)
