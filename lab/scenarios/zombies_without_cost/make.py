"""Thousands of zombies that nobody walks."""

from __future__ import annotations

from lab.faults.zombies import zombies
from lab.running.incident_play import (
    FEW_SECONDS,
    Incident,
    healthy_node,
    play_incident,
    stalling_queue,
)
from lab.running.stage import Stage

ZOMBIES = 3_000


def play(stage: Stage) -> None:
    """Leak, leave them alone, and ask."""
    stage.tell(f"{ZOMBIES:,} memory cgroups are leaked")
    with zombies(ZOMBIES), healthy_node() as machine:
        play_incident(
            stage,
            Incident(machine, stalling_queue(), quiet_seconds=FEW_SECONDS, line_after_seconds=0.0),
        )
