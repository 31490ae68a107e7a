"""A process is killed at the memory limit of its own cgroup, on a node that has memory enough."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lab.faults.limit_kills import COMM, kill_at_limit
from lab.running.incident_play import (
    FEW_SECONDS,
    Incident,
    healthy_node,
    play_incident,
    stalling_queue,
)
from lab.running.stage import Stage


def play(stage: Stage) -> None:
    """Have the kernel kill one at its limit, a second before the line; ask."""

    @contextmanager
    def killed() -> Iterator[None]:
        stage.tell(f"{COMM} grows until the kernel kills it at its own limit")
        stage.results["made"] |= {"process": COMM, "pid": kill_at_limit()}
        yield

    with healthy_node() as machine:
        incident = Incident(
            machine, stalling_queue(), killed, quiet_seconds=FEW_SECONDS, line_after_seconds=1.0
        )
        play_incident(stage, incident)
    kinds = [event["kind"] for event in stage.ask("events")["events"]]
    stage.results["kills"] = kinds.count("oom-kill")
