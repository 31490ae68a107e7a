"""A unit that fails and leaks, and a process that walks what it leaked on the core of the queue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lab.faults.crash_loops import crash_looping
from lab.faults.zombie_walks import FUNCTIONS, zombie_walk
from lab.running.incident_play import FAULT_SECONDS, HEALTHY, Incident, play_incident, stalling_queue
from lab.running.stage import Stage

CGROUPS_PER_START = 100
WALKER = "kubelet"


def play(stage: Stage) -> None:
    """Leak from the beginning; walk for some seconds; ask."""
    queue = stalling_queue()
    core = queue.cores[0]
    stage.stand_in(f"{WALKER}: a process of that name, whose calls make reclaim walk the zombies")
    with crash_looping(CGROUPS_PER_START, others=HEALTHY) as loop:
        stage.results["made"] = {
            "unit": loop.unit,
            "process": WALKER,
            "functions": list(FUNCTIONS),
            "least_per_start": CGROUPS_PER_START * 3 // 4,
            "most_per_start": CGROUPS_PER_START * 5 // 4,
        }

        @contextmanager
        def walk() -> Iterator[None]:
            stage.tell(f"{WALKER} walks the zombies on core {core}")
            with zombie_walk(loop.cgroup, core, FAULT_SECONDS, WALKER) as walker:
                yield
                walker.wait()

        play_incident(stage, Incident(loop.machine, queue, walk))
