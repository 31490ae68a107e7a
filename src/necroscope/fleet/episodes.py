"""Episodes of a fleet: the windows of signals/episodes.py, applied to millions of rows at once.

Of NICs, each device has its own episodes; of other kinds, each host.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.tables.opened import FleetTables
from necroscope.signals.episodes import episode_seconds
from necroscope.signals.thresholds import Thresholds

KEYS = ("host", "kind", "device", "bus", "phase", "time_us")  # what an episode is found by
COUNT = (("events", "sum", "count(*)"),)


def gather_episodes(  # noqa: PLR0913, PLR0917 - what was asked, and of whom
    tables: FleetTables,
    engine: Engine,
    kinds: Sequence[str],
    span_us: tuple[int, int],
    thresholds: Thresholds,
    columns: Sequence[str] = ("facts",),
) -> pa.Table:
    """Return the first events of episodes that begin in a range; one that began before it counts as well."""
    names = ", ".join(f"'{kind}'" for kind in kinds)
    gathering = Gathering("events", (*KEYS, *columns), COUNT, "time_us", f"kind IN ({names})")
    return first_events(engine.gather(tables, gathering, *span_us), thresholds)


def first_events(rows: pa.Table, thresholds: Thresholds) -> pa.Table:
    """Return the rows that begin an episode, of events in any order."""
    host, kind, device, bus, phase = (texts(rows, name) for name in KEYS[:-1])
    time_us = rows.column("time_us").to_numpy().astype(np.int64)
    place = np.where(kind == "nic-reset", np.where(device == "", bus, device), "")
    codes = [np.unique(one, return_inverse=True)[1] for one in (host, kind, place)]
    order = np.lexsort((time_us, codes[2], codes[1], codes[0]))
    gaps_us = {one: episode_seconds(one, thresholds) * 1e6 for one in np.unique(kind)}
    gap_us = np.array([gaps_us[one] for one in kind[order][1:]])
    follows = np.diff(time_us[order]) <= gap_us
    for code in codes:
        follows &= code[order][1:] == code[order][:-1]
    episode = np.concatenate([[0], np.cumsum(~follows)])[: len(order)]
    is_trouble = phase[order] != "done"
    _, first = np.unique(episode[is_trouble], return_index=True)
    return rows.take(pa.array(order[is_trouble][first]))


def texts(rows: pa.Table, name: str) -> NDArray[np.object_]:
    """Return a column of words; empty where there is none."""
    column = rows.column(name).cast(pa.string()).fill_null("")
    found: NDArray[np.object_] = column.to_numpy(zero_copy_only=False).astype(object)
    return found
