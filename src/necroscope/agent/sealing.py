"""The command that the recorder runs to seal a segment."""

from __future__ import annotations

import os
from pathlib import Path

from necroscope.agent.sealer import stuck_seconds
from necroscope.sources.host import Host
from necroscope.store.child import OURSELVES
from necroscope.store.config import RecordSettings

# What takes more has read something that was made to harm us: 1.1 million samples of 96 CPUs take 300 MB.
MAX_MEMORY_BYTES = 1 << 30
OTHERS_BYTES = 160 << 20  # of the same cgroup: the recorder, perf and its buffers
BYTES_PER_SAMPLE = 256  # twice what five million samples take, for those who sample ten times as often


def seal_memory_bytes(settings: RecordSettings, limit_bytes: int | None) -> int:
    """Return how much memory a sealing child may take, in a cgroup that may take so much.

    Else the kernel would end all of the cgroup, and the recorder with it.
    """
    samples = settings.segment_seconds * settings.rate * (os.cpu_count() or 1)
    wanted = max(MAX_MEMORY_BYTES, int(samples) * BYTES_PER_SAMPLE)
    return wanted if limit_bytes is None else min(wanted, max(limit_bytes - OTHERS_BYTES, limit_bytes // 2))


def seal_command(host: Host, store: Path, settings: RecordSettings, *, keep_capture: bool) -> list[str]:
    """Return the command."""
    budget = settings.budget
    seconds = stuck_seconds(settings.segment_seconds)
    command = [*OURSELVES, "seal", "--json", "--max-time", f"{seconds:g}s"]
    command += ["--keep-perf-data"] if keep_capture else []
    command += ["--root", str(host.root)]
    command += ["--store", str(store), "--age", f"{budget.age_seconds:g}s"]
    return [*command, "--budget", str(budget.total_bytes), "--kept-budget", str(budget.kept_bytes)]
