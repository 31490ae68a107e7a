"""The node on which it happens: a real systemd with the agent, kubelet, a driver's stand-in, a recorder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.faults.crash_loops import leaked
from lab.faults.ecs_agents import EcsAgent, ecs_agent
from lab.faults.kernel_lines import TRUST
from lab.faults.kubelets import Kubelet, WalkCost, kubelet
from lab.faults.queue_watchers import QueueWatcher, queue_watcher
from lab.running.stage import Stage
from lab.scenarios.pinterest.rounds import rounds_as_results
from necroscope.sources.nic_queues import NicQueue

CHECKOUT = Path(__file__).parents[3]
# Chosen, so that the first round after the leak has begun, or else the second, is longer than a driver waits.
ROUND_SECONDS, AT_ZOMBIES = 7.0, 8_000


@dataclass(frozen=True, slots=True)
class Node:
    """All that runs, and how to ask on it."""

    queue: NicQueue
    agent: EcsAgent
    kubelet: Kubelet
    watcher: QueueWatcher
    recorded_since: float  # time.monotonic()

    @property
    def core(self) -> int:
        """The one that serves the queue."""
        return self.queue.cores[0]

    @property
    def prefix(self) -> tuple[str, ...]:
        """What to put before a command for it to run on the node."""
        return self.agent.machine.prefix

    def check(self) -> None:
        """Raise if a part of it has ended by itself."""
        self.kubelet.check()
        self.watcher.check()

    def results(self, fix_ns: int | None) -> dict[str, Any]:
        """What was made, and what it did; `fix_ns` is when the fix began, if it has."""
        return {
            "made": {
                "core": self.core,
                "device": self.queue.device,
                "queue": self.queue.queue,
                "unit": self.agent.unit,
                "cgroups_per_start": self.agent.cgroups_per_start,
                "walks_a_round": self.kubelet.walks,
                "round_seconds": ROUND_SECONDS,
                "at_zombies": AT_ZOMBIES,
            },
            "rounds": rounds_as_results(self.kubelet.rounds(), fix_ns),
            "stalls": [
                {"line": one.stall.line, "watched_seconds": round(one.stretch.seconds, 2)}
                for one in self.watcher.stalls
            ],
        }

    def since_round(self, time_ns: int) -> float | None:
        """Seconds from the beginning of the round in which the first line came; None without one."""
        if not self.watcher.stalls:
            return None
        line_ns = self.watcher.stalls[0].stall.time_ns
        begins = [one.begin_ns for one in self.kubelet.rounds() if one.begin_ns <= line_ns <= one.end_ns]
        return round((time_ns - begins[0]) / 1e9, 2) if begins else None


@contextmanager
def off_core(core: int) -> Iterator[None]:
    """Keep us and all that we start away from a core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before - {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def broken_node(stage: Stage, queue: NicQueue, cost: WalkCost, wait: Callable[[], None]) -> Iterator[Node]:
    """Boot it, record it, wait, and start kubelet; the agent does not give up yet."""
    core = queue.cores[0]
    with ExitStack() as undo:
        agent = undo.enter_context(ecs_agent(core, binds=(CHECKOUT, stage.folder)))
        undo.enter_context(stage.recording("--segment", "5s", TRUST, prefix=agent.machine.prefix))
        recorded_since = time.monotonic()
        wait()
        walks = cost.walks_for(AT_ZOMBIES, ROUND_SECONDS)
        one = undo.enter_context(kubelet(core, walks, stage.folder / "rounds.jsonl"))
        watcher = undo.enter_context(queue_watcher(queue))
        before = leaked()
        undo.enter_context(stage.gauge("zombies", lambda: f"{max(0, leaked() - before):,}"))
        undo.enter_context(stage.gauge("kubelet's round", lambda: _round_text(one)))
        in_kernel = f"core {core} in the kernel"
        undo.enter_context(stage.gauge(in_kernel, lambda: f"{watcher.run.seconds():.1f} s"))
        yield Node(queue, agent, one, watcher, recorded_since)


def _round_text(one: Kubelet) -> str:
    rounds = one.rounds()
    return f"{rounds[-1].seconds:.2f} s at {rounds[-1].zombies:,} zombies" if rounds else "none yet"
