"""Episodes: events of one host and kind that follow each other closely are one.

A reset writes several lines, and one that does not help is tried again. Of NICs, each device has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.tables.opened import FleetTables

GAP_US = 60 * 10**6
BY_DEVICE = frozenset({"nic-reset"})


@dataclass(frozen=True, slots=True, eq=False)
class Episodes:
    """The first event of each episode, by host and time."""

    host: NDArray[np.object_]
    facts: NDArray[np.object_]  # of the host at that time
    time_us: NDArray[np.int64]


def gather_episodes(
    tables: FleetTables, engine: Engine, kinds: Sequence[str], begin_us: int, end_us: int
) -> Episodes:
    """The episodes that begin in a range; one that began before it counts as well."""
    names = ", ".join(f"'{kind}'" for kind in kinds)
    rows = engine.gather(
        tables,
        Gathering(
            "events",
            ("host", "kind", "device", "time_us", "facts"),
            (("events", "sum", "count(*)"),),
            time="time_us",
            where=f"kind IN ({names})",
        ),
        begin_us,
        end_us,
    )
    return episodes_of(rows)


def episodes_of(rows: pa.Table) -> Episodes:
    """The episodes of events, which may come in any order."""
    host, kind, device, facts = (_texts(rows, name) for name in ("host", "kind", "device", "facts"))
    time_us = rows.column("time_us").to_numpy().astype(np.int64)
    device = np.where(np.isin(kind, list(BY_DEVICE)), device, "")
    codes = [np.unique(texts, return_inverse=True)[1] for texts in (host, kind, device)]
    order = np.lexsort((time_us, codes[2], codes[1], codes[0]))
    same = np.ones(max(len(order) - 1, 0), dtype=bool)
    for code in codes:
        same &= code[order][1:] == code[order][:-1]
    follows = same & (np.diff(time_us[order]) <= GAP_US)
    first = order[np.concatenate([[True], ~follows])[: len(order)]]
    return Episodes(host[first], facts[first], time_us[first])


def _texts(rows: pa.Table, name: str) -> NDArray[np.object_]:
    column = rows.column(name).cast(pa.string()).fill_null("")
    texts: NDArray[np.object_] = column.to_numpy(zero_copy_only=False).astype(object)
    return texts
