"""Episodes of a fleet: windows and places as in signals/episodes.py, applied to millions of rows at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.signals.episodes import LOCKUPS, episode_seconds
from necroscope.signals.thresholds import Thresholds

PLACES = ("device", "bus", "unit", "core", "process")  # the first that an event names is its place
KEYS = ("host", "kind", *PLACES, "phase", "time_us")  # what an episode is found by
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
    host, kind, phase = (texts(rows, name) for name in ("host", "kind", "phase"))
    time_us = rows.column("time_us").to_numpy().astype(np.int64)
    what = np.where(np.isin(kind, list(LOCKUPS)), "lockup", kind)
    codes = [np.unique(one, return_inverse=True)[1] for one in (host, what, _places(rows))]
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


def _places(rows: pa.Table) -> NDArray[np.object_]:
    """Return what `place_of` in signals/episodes.py says of an event."""
    named = [rows.column(name).cast(pa.string()) for name in PLACES]
    named[PLACES.index("core")] = pc.binary_join_element_wise("core", named[PLACES.index("core")], " ")
    nothing = pa.scalar(None, pa.string())
    place = pc.coalesce(*(pc.if_else(pc.equal(one, ""), nothing, one) for one in named))
    found: NDArray[np.object_] = place.fill_null("").to_numpy(zero_copy_only=False).astype(object)
    return found


def texts(rows: pa.Table, name: str) -> NDArray[np.object_]:
    """Return a column of words; empty where there is none."""
    column = rows.column(name).cast(pa.string()).fill_null("")
    found: NDArray[np.object_] = column.to_numpy(zero_copy_only=False).astype(object)
    return found
