"""The training job: its network is served by the core of the queue, and its two Ray nodes keep off that."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from lab.running.stage import Stage
from lab.scenarios.pinterest.pings import Pings, ping
from lab.training import cluster as clusters
from lab.training import network as networks
from lab.training.cluster import Cluster, starting_cluster
from lab.training.job import COLLECTIVE_TIMEOUT_SECONDS, Job, JobResult, run_job, starting_job
from lab.training.network import Network, two_hosts

PART, NETWORK = "job", "network"
STEPS, MORE_STEPS_THAN_IT_WILL_DO = 100, 100_000
BEFORE, DURING, AFTER = "before", "during", "after"


@dataclass(frozen=True, slots=True)
class Training:
    """Two hosts, where they can be made, and a cluster on them, where Ray can run."""

    stage: Stage
    network: Network | None
    cluster: Cluster | None

    def run(self, when: str) -> None:
        """How fast the network is, and then a job from its beginning to its end."""
        self.measure_network(when)
        if self.cluster:
            self._keep(when, run_job(self.cluster, steps=STEPS))

    @contextmanager
    def running(self) -> Iterator[Job | None]:
        """A job that goes on until something ends it."""
        if not self.cluster:
            yield None
            return
        with (
            starting_job(self.cluster, steps=MORE_STEPS_THAN_IT_WILL_DO) as job,
            self.stage.gauge("training", job.progress),
        ):
            yield job

    def wait_until_ready(self) -> None:
        """Until a job can be run."""
        if self.cluster:
            self.cluster.wait_until_ready()

    def keep_end(self, job: Job | None, timeout_seconds: float = 0.0) -> bool:
        """Keep and tell how the job that goes on ended; whether it has, or there is none."""
        kept = self.stage.results.get(PART, {})
        if job and DURING not in kept and (job.has_ended() or timeout_seconds):
            self._keep(DURING, job.wait(timeout_seconds))
        return job is None or DURING in self.stage.results.get(PART, {})

    def measure_network(self, when: str) -> None:
        """How fast the network is now, and how long its kernel threads were kept waiting."""
        if not self.network:
            return
        waited, began = self.network.run_delay_seconds(), time.monotonic()
        pings = ping(self.network)
        kept = self.stage.results.setdefault(NETWORK, {})
        kept[when] = {
            "sent": pings.sent,
            "came_back": len(pings.seconds),
            "median_ms": _rounded(pings.median_ms),
            "longest_ms": _rounded(pings.longest_ms),
            "times_slower": _times_slower(pings, kept.get(BEFORE)),
            "seconds": round(time.monotonic() - began, 2),
            "threads_waited_seconds": round(self.network.run_delay_seconds() - waited, 3),
        }

    def _keep(self, when: str, result: JobResult) -> None:
        self.stage.results.setdefault(PART, {})[when] = _as_results(result)
        self.stage.tell(f"the training job {_how(result)}")


@contextmanager
def training(stage: Stage, core: int) -> Iterator[Training]:
    """Make the network of the job, and begin to start Ray on it."""
    no_network = _why_no_network(stage)
    no_cluster = no_network or clusters.why_not()
    for part, reason in ((NETWORK, no_network), (PART, no_cluster)):
        if reason and part not in stage.without:  # of what was asked for, the runner tells
            stage.leave_out(part, reason)
    with ExitStack() as undo:
        network = None if no_network else undo.enter_context(two_hosts(core))
        cluster = None
        if network and not no_cluster and PART not in stage.without:
            cluster = undo.enter_context(starting_cluster(network))
        yield Training(stage, network, cluster)


def _why_no_network(stage: Stage) -> str | None:
    return "without its network, as asked for" if NETWORK in stage.without else networks.why_not()


def _how(result: JobResult) -> str:
    if result.succeeded:
        return f"succeeded: {len(result.step_seconds)} steps, in {result.seconds:.0f} s"
    took = result.failed_step_seconds
    after = f" after {took:.1f} s" if took is not None else ""
    return f"failed: step {result.failed_step}{after}: {_raised(result)}"


def _as_results(result: JobResult) -> dict[str, Any]:
    step_seconds = result.step_seconds or (0.0,)
    return {
        "succeeded": result.succeeded,
        "timeout_seconds": COLLECTIVE_TIMEOUT_SECONDS,
        "seconds": round(result.seconds, 1),
        "end": result.end,
        "steps": len(result.step_seconds),
        "median_step_ms": round(statistics.median(step_seconds) * 1e3, 1),
        "longest_step_ms": round(max(step_seconds) * 1e3, 1),
        "first_loss": result.losses[0] if result.losses else None,
        "last_loss": result.losses[-1] if result.losses else None,
        "failed_step": result.failed_step,
        "failed_step_seconds": result.failed_step_seconds,
        "error_kind": result.error_kind,
        "error": _raised(result),
    }


def _raised(result: JobResult) -> str:
    """What was raised; above it is where."""
    return result.error.strip().rpartition("\n")[2]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _times_slower(pings: Pings, before: dict[str, Any] | None) -> float | None:
    """Than on the quiet node."""
    median_ms: float | None = before["median_ms"] if before else None
    return round(pings.median_ms / median_ms, 1) if pings.median_ms and median_ms else None
