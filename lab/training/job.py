"""A training job on a cluster, from without: start it, look at it, and learn how it ended.

    result = run_job(cluster, steps=60)
    result.succeeded, result.failed_step, result.error

A step waits for the network 600 times. It takes 30 ms, at most 55 ms; with a busy process on another core at
most 98 ms; and 7.9 s in the mean of three, at most 10.6 s, while a process is in the kernel all the time on
the core that does the work of the network (two cores, Linux 6.18, measured). The timeout lies between.

Costs    two seconds to begin and to end, beside the steps (measured)
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.training.cluster import Cluster, environment

STEPS = 180
COLLECTIVE_TIMEOUT_SECONDS = 3.0
END_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a job ended."""

    succeeded: bool
    seconds: float  # until its driver said so
    step_seconds: tuple[float, ...]  # of the steps that were done
    losses: tuple[float, ...]
    end: float = 0.0  # time.monotonic()
    failed_step: int | None = None  # 0 if it failed before the first
    failed_step_seconds: float | None = None  # that it had taken by then; None if the driver could not say
    error_kind: str = ""  # the type that Ray raised
    error: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One that runs, or has run."""

    process: subprocess.Popen[bytes]
    output: Path
    began: float
    steps: int

    def progress(self) -> str:
        """For a gauge."""
        done = [line for line in self._lines() if "step" in line]
        if not done:
            return f"step 0 of {self.steps}"
        last = done[-1]
        return (
            f"step {last['step']} of {self.steps}, {last['seconds'] * 1e3:.0f} ms a step,"
            f" loss {last['loss']:.3f}"
        )

    def wait(self, timeout_seconds: float = END_SECONDS) -> JobResult:
        """How it ended; one that does not end in time has failed."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout_seconds)
        lines = self._lines()
        steps = [line for line in lines if "step" in line]
        step_seconds = tuple(line["seconds"] for line in steps)
        losses = tuple(line["loss"] for line in steps)
        last = lines[-1] if lines else {}
        end = last.get("at", time.monotonic())
        if self.process.returncode == 0 and last.get("succeeded"):
            return JobResult(True, end - self.began, step_seconds, losses, end)
        return JobResult(
            False,
            end - self.began,
            step_seconds,
            losses,
            end,
            failed_step=last.get("failed_step", len(steps) + 1),
            failed_step_seconds=last.get("failed_after_seconds"),
            error_kind=last.get("kind", ""),
            error=last.get("error") or self._why_it_ended(timeout_seconds),
        )

    def has_ended(self) -> bool:
        """Whether `wait` would return at once."""
        return self.process.poll() is not None

    def _lines(self) -> list[dict[str, Any]]:
        """What the driver has reported; a line that is still being written is left out."""
        text = self.output.read_text(errors="replace")
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("}\n")]

    def _why_it_ended(self, timeout_seconds: float) -> str:
        if self.process.returncode is None:
            return f"the driver had not ended after {timeout_seconds:g} s"
        said = self.output.with_suffix(".err").read_text(errors="replace")
        return f"the driver ended with {self.process.returncode}\n{said}".strip()


@contextmanager
def starting_job(
    cluster: Cluster, steps: int = STEPS, timeout_seconds: float = COLLECTIVE_TIMEOUT_SECONDS
) -> Iterator[Job]:
    """Begin a job on a cluster that is ready; what still runs in the end is killed."""
    began = time.monotonic()
    output = cluster.folder / f"job-{time.monotonic_ns()}.out"
    driver = [sys.executable, "-m", "lab.training.driver", str(steps), str(timeout_seconds)]
    with output.open("wb") as out, output.with_suffix(".err").open("wb") as err:
        process = subprocess.Popen(
            [*cluster.run_prefix("head"), *driver],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment(cluster.folder),
            start_new_session=True,
        )
    try:
        yield Job(process, output, began, steps)
    finally:
        # nsenter forks to enter the pid namespace: killing it alone leaves the driver running.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_job(
    cluster: Cluster, steps: int = STEPS, timeout_seconds: float = COLLECTIVE_TIMEOUT_SECONDS
) -> JobResult:
    """Run a job to its end."""
    with starting_job(cluster, steps, timeout_seconds) as job:
        return job.wait()
