"""Nothing but the line."""

from __future__ import annotations

from lab.running.incident_play import (
    FEW_SECONDS,
    Incident,
    healthy_node,
    play_incident,
    stalling_queue,
)
from lab.running.stage import Stage


def play(stage: Stage) -> None:
    """Write the line; ask."""
    with healthy_node() as machine:
        play_incident(
            stage,
            Incident(machine, stalling_queue(), quiet_seconds=FEW_SECONDS, line_after_seconds=0.0),
        )
