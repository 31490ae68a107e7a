"""The tables of a generated fleet."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from lab.fleets.cgroup_counts import CgroupCounts
from lab.fleets.fact_rows import fact_rows, make_fact_ids
from lab.fleets.fleet import make_fleet, randoms
from lab.fleets.incidents import make_events
from lab.fleets.plan import Plan
from lab.fleets.segment_rows import Told, event_rows, segment_rows
from lab.fleets.written_tables import write_fleet_tables
from necroscope.fleet.tables.index import Index


def write_fleet(folder: Path, plan: Plan) -> Index:
    """Write the tables of a fleet."""
    fleet = make_fleet(plan)
    event_random, count_random, segment_random = randoms(plan.seed + 1_000_003, 3)
    names = pa.array([f"host-{number:05d}" for number in range(plan.hosts)])
    facts = make_fact_ids(fleet.made)
    events = make_events(plan, fleet.lives, fleet.episodes, event_random)
    told = Told(fleet, facts, events, names)
    counts = CgroupCounts(plan, fleet.made, fleet.lives, count_random)
    return write_fleet_tables(
        folder,
        {
            "segments": segment_rows(told, counts, segment_random),
            "events": [event_rows(told)],
            "facts": fact_rows(fleet, facts, names),
            "fact_sets": [facts.sets],
            "sections": [facts.sections],
        },
    )
