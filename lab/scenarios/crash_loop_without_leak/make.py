"""A unit that fails twice a second, and whose memory cgroups are all freed."""

from __future__ import annotations

from lab.faults.crash_loops import crash_looping
from lab.running.incident_play import FEW_SECONDS, HEALTHY, Incident, play_incident, stalling_queue
from lab.running.stage import Stage

CGROUPS_PER_START = 20


def play(stage: Stage) -> None:
    """Fail and free; ask."""
    with crash_looping(CGROUPS_PER_START, leaks=False, others=HEALTHY) as loop:
        stage.results["made"] = {"unit": loop.unit}
        play_incident(
            stage,
            Incident(loop.machine, stalling_queue(), quiet_seconds=FEW_SECONDS, line_after_seconds=0.0),
        )
