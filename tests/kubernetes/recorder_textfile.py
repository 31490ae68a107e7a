"""The file of a recorder with some findings, by the code of the recorder."""

from __future__ import annotations

import time
from pathlib import Path

from necroscope.exporter.exposition import render
from necroscope.exporter.meter import Meter
from necroscope.model.node_state import ActiveFinding, NodeState
from necroscope.signals.thresholds import load_thresholds

CHECKED = ("core-saturated", "zombie-memory-cgroups", "memory-cgroup-leak", "nic-reset")


def textfile(folder: Path, *found: ActiveFinding, age_seconds: float = 100) -> Path:
    """Written into a folder; examined so long ago."""
    meter = Meter(load_thresholds(None))
    meter.take_state(NodeState(int((time.time() - age_seconds) * 1e9), found, CHECKED))
    path = folder / "metrics.prom"
    beside = path.with_suffix(".partial")
    beside.write_text(render(meter))
    beside.replace(path)
    return path
