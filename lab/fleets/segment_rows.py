"""Segments and events of a generated fleet as rows of its tables, an hour at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lab.fleets.cgroup_counts import CgroupCounts
from lab.fleets.fact_rows import FactIds, coded
from lab.fleets.fleet import Fleet
from lab.fleets.incidents import Events
from lab.fleets.lives import MOST_BOOTS, Seconds
from lab.fleets.made_of import Random
from lab.fleets.plan import DEVICE
from necroscope.model.event import EVENT_KINDS

PHASES = ("stall", "reset", "done")
TEXTS = (
    f"ena 0000:00:05.0 {DEVICE}: Found a Tx that wasn't completed on time, qid 3",
    f"ena 0000:00:05.0 {DEVICE}: Trigger reset is on",
    f"ena 0000:00:05.0 {DEVICE}: Device reset completed successfully",
)
CORES = 96


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """All that rows are made of."""

    fleet: Fleet
    facts: FactIds
    events: Events
    names: pa.Array  # of hosts

    @property
    def offset(self) -> NDArray[np.int_]:
        """By how many seconds the segments of each host begin later."""
        plan = self.fleet.plan
        late: NDArray[np.int_] = np.arange(plan.hosts) * 7 % min(plan.segment_seconds, 120)
        return late

    def columns(self, host: NDArray[np.int_], at: Seconds) -> dict[str, pa.Array]:
        """Who it was: the host, its boot and its facts at some times."""
        plan, codes = self.fleet.plan, self.facts.codes
        code = np.where(at >= self.fleet.made.changes_at[host], codes[1][host], codes[0][host])
        boot = host * (MOST_BOOTS + 1) + self.fleet.lives.boot_number(host, at)
        return {
            "host": coded(host, self.names),
            "boot_id": pa.DictionaryArray.from_arrays(
                boot.astype(np.int32), _boot_ids(plan.seed, plan.hosts)
            ),
            "facts": coded(code, pa.array(self.facts.ids)),
        }


def segment_rows(told: Told, counts: CgroupCounts, random: Random) -> Iterator[pa.Table]:
    """All segments, in the order of time; about an hour of them a table."""
    plan, lives = told.fleet.plan, told.fleet.lives
    step = max(3600 // plan.segment_seconds, 1) * plan.segment_seconds
    for begin in range(0, int(plan.seconds), step):
        starts = np.arange(begin, min(begin + step, int(plan.seconds)), plan.segment_seconds)
        at = (starts[:, None] + told.offset).astype(float)  # starts x hosts
        length = lives.recorded_between(at, np.minimum(at + plan.segment_seconds, plan.seconds))
        zombies, tracked, in_use = counts.at(starts.astype(float))
        order, host = np.nonzero(length > 0)
        seen, when = length[order, host], at[order, host]
        begin_us = plan.begin_us + (np.maximum(when, lives.begin[host]) * 1e6).astype(np.int64)
        yield pa.table(
            {
                **told.columns(host, when),
                "segment": _segment_names(begin_us),
                "begin_us": begin_us,
                "end_us": begin_us + plan.segment_seconds * 10**6,
                "recorded_us": (seen * 1e6).astype(np.int64),
                "synchronised": pa.array(np.ones(len(host), dtype=bool)),
                "cores": np.full(len(host), CORES, dtype=np.int32),
                "samples": (seen * CORES * 97).astype(np.int64),
                "saturated_core_us": (random.random(len(host)) < 0.02) * np.int64(3_000_000),
                "zombies": zombies[order, host],
                "tracked": tracked[order, host],
                "in_use": in_use[order, host],
                "wall_level": counts.wall_level[host],
                **{name: table[order, host] for name, table in _event_counts(told, begin, len(starts))},
            }
        )


def event_rows(told: Told) -> pa.Table:
    """All events, in the order of time."""
    plan, events, offset = told.fleet.plan, told.events, told.offset
    host, count = events.host, len(events.host)
    begin = (events.at - offset[host]) // plan.segment_seconds * plan.segment_seconds + offset[host]
    begin_us = plan.begin_us + (np.maximum(begin, told.fleet.lives.begin[host]) * 1e6).astype(np.int64)
    time_us = plan.begin_us + (events.at * 1e6).astype(np.int64)
    is_reset = events.kinds == 0
    phase = np.where(is_reset, events.phase, len(PHASES))
    kinds = np.array(events.kind)[events.kinds]
    return pa.table(
        {
            # An hour has few: the names of all hosts in the dictionary of each would be most of its file.
            **{name: column.dictionary_decode() for name, column in told.columns(host, events.at).items()},
            "segment": _segment_names(begin_us),
            "id": [_event_id(kind, at, n) for n, (kind, at) in enumerate(zip(kinds, time_us, strict=True))],
            "kind": kinds.tolist(),
            "time_us": time_us,
            "time_ns": (time_us - plan.begin_us) * 1000,
            "sequence": np.arange(count),
            "rule": np.where(is_reset, "ena-tx-stalled", kinds).tolist(),
            "text": np.array([*TEXTS, "generated"])[phase].tolist(),
            "from_user_space": pa.array(np.zeros(count, dtype=bool)),
            "phase": np.array([*PHASES, ""])[phase].tolist(),
            "device": np.where(is_reset, DEVICE, "").tolist(),
            "bus": np.where(is_reset, "0000:00:05.0", "").tolist(),
            "driver": np.where(is_reset, "ena", "").tolist(),
        }
    )


def _event_counts(told: Told, begin: int, starts: int) -> Iterator[tuple[str, NDArray[np.int32]]]:
    """How many events of each kind the segments from a time on have; starts x hosts."""
    plan, events = told.fleet.plan, told.events
    place = ((events.at - told.offset[events.host] - begin) // plan.segment_seconds).astype(int)
    is_here = (place >= 0) & (place < starts)
    for kind in EVENT_KINDS:
        counts = np.zeros((starts, plan.hosts), dtype=np.int32)
        if kind in events.kind:
            these = is_here & (events.kinds == events.kind.index(kind))
            np.add.at(counts, (place[these], events.host[these]), 1)
        yield kind.replace("-", "_"), counts


@cache
def _boot_ids(seed: int, hosts: int) -> pa.Array:
    """The ids of all boots of all hosts, MOST_BOOTS + 1 of each."""
    numbers = range(hosts * (MOST_BOOTS + 1))
    return pa.array([f"{seed:08x}-{n // 5:04x}-4{n % 5:03x}-8000-{n:012x}" for n in numbers])


def _segment_names(begin_us: NDArray[np.int64]) -> pa.Array:
    """The names of segments; few are different in an hour, and only those are made."""
    seconds, place = np.unique(begin_us // 10**6, return_inverse=True)
    zero = datetime(1970, 1, 1, tzinfo=UTC)
    names = pa.array([f"{zero + timedelta(seconds=int(second)):%Y%m%dT%H%M%SZ}" for second in seconds])
    return names.take(pa.array(place))


def _event_id(kind: str, time_us: int, sequence: int) -> str:
    when = datetime.fromtimestamp(int(time_us) // 1000 / 1000, UTC)
    return f"{kind}-{when:%Y%m%dT%H%M%S}.{int(time_us) // 1000 % 1000:03d}Z-{sequence}"
