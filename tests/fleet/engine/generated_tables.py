"""Random rows of segments, and random questions about them; the same for the same seed."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa

from lab.fleets.written_tables import write_fleet_tables
from necroscope.fleet.engine.gathering import Gathering
from necroscope.model.timestamp import HOUR_US

BEGIN_US = 495_000 * HOUR_US
HOURS = 48
HOSTS = 40
COLUMNS = (
    ("rows", "sum", "count(*)"),
    ("recorded", "sum", "sum(recorded_us)"),
    ("resets", "sum", "sum(nic_reset)"),
    ("squares", "sum", "sum(samples * samples)"),
    ("first", "min", "min(begin_us)"),
    ("last", "max", "max(end_us)"),
    ("most", "max", "max(zombies)"),
    ("least", "min", "min(tracked)"),
    ("latest", "max", "max(segment)"),
)
KEYS = (
    ("host",),
    ("boot_id",),
    ("facts",),
    ("host", "facts"),
    ("cores", "synchronised"),
    ("host", "boot_id"),
)
WHERE = ("true", "nic_reset > 0", "cores = 96", "zombies IS NOT NULL", "host < 'host-20'", "zombies > 10000")


def write_generated_tables(folder: Path, rows_an_hour: int, seed: int = 1) -> None:
    """Tables with rows in every hour."""
    draw = np.random.default_rng(seed)
    count = rows_an_hour * HOURS
    begin_us = BEGIN_US + np.sort(draw.integers(0, HOURS * HOUR_US, count))
    zombies = draw.integers(0, 20_000, count)
    rows = pa.table(
        {
            "host": [f"host-{number:02d}" for number in draw.integers(0, HOSTS, count)],
            "segment": [f"segment-{number:06d}" for number in range(count)],
            "boot_id": [f"boot-{number}" for number in draw.integers(0, 90, count)],
            "begin_us": begin_us,
            "end_us": begin_us + 120 * 10**6,
            "recorded_us": draw.integers(10**14, 10**15, count),
            "synchronised": draw.integers(0, 2, count).astype(bool),
            "cores": draw.choice([4, 96], count).astype(np.int32),
            "samples": draw.integers(0, 10**6, count),
            "zombies": pa.array(zombies, mask=zombies < 2000),
            "tracked": zombies + 100,
            "facts": [f"facts-{number}" for number in draw.integers(0, 5, count)],
            "nic_reset": draw.poisson(0.1, count).astype(np.int32),
        }
    )
    write_fleet_tables(folder, {"segments": [rows]})


def drawn_gathering(draw: random.Random) -> tuple[Gathering, int, int]:
    """A question, and a range that may begin and end in the middle of an hour, or have nothing in it."""
    columns = tuple(draw.sample(COLUMNS, draw.randint(1, len(COLUMNS))))
    gathering = Gathering("segments", draw.choice(KEYS), columns, where=draw.choice(WHERE))
    begin, end = sorted(draw.uniform(-2, HOURS + 2) for _ in range(2))
    return gathering, BEGIN_US + int(begin * HOUR_US), BEGIN_US + int(end * HOUR_US)
