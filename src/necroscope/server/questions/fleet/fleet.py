"""What there is of a fleet."""

from __future__ import annotations

import time

from necroscope.fleet.tables.duck import viewed
from necroscope.fleet.tables.index import ALWAYS
from necroscope.model.timestamp import HOUR_US
from necroscope.server.questions.failure import HIDDEN, folder_of
from necroscope.server.questions.fleet.fleet_answers import Fleet, FleetLabel, Rejected
from necroscope.server.questions.fleet.fleet_span import FleetSpan
from necroscope.server.questions.fleet.fleet_store import FleetStore

MOST_LABELS = 100
MOST_REJECTED = 20
DAY_US = 24 * HOUR_US
KINDS = "SELECT kind, count(*) FROM events GROUP BY kind ORDER BY count(*) DESC, kind"
LABELS = f"""
SELECT 'labels/' || name, count(DISTINCT value) FROM sections WHERE section_id IN (
    SELECT section_id FROM fact_sets WHERE section = 'labels'
) GROUP BY name ORDER BY name LIMIT {MOST_LABELS}
"""


def ask_fleet(fleet: FleetStore) -> Fleet:
    """Place, time, kinds of events and labels."""
    tables = fleet.tables()
    begins = [file.begin_us for file in tables.index.files if file.hour != ALWAYS]
    begin_us, last_us = min(begins, default=0), max(begins, default=0) + HOUR_US
    hours = fleet.hours(FleetSpan(max(0, last_us - DAY_US), last_us))
    with viewed({name: tables.paths(name) for name in ("events", "fact_sets", "sections")}) as connection:
        kinds, labels = (connection.execute(query).fetchall() for query in (KINDS, LABELS))
    rejected = [Rejected(name, why) for name, why in sorted(tables.index.rejected.items())]
    return Fleet(
        place=HIDDEN if folder_of(fleet.address) else fleet.place.address,
        begin_us=begin_us,
        end_us=max((hour.end_us for hour in hours), default=last_us),
        made_us=tables.index.made_us,
        hosts=len({int(host) for hour in hours for host in hour.hosts}),
        kinds=dict(kinds),
        labels=[FleetLabel(name, values) for name, values in labels],
        rejected=rejected[:MOST_REJECTED],
        rejected_parts=len(rejected),
        has_jobs=any(file.table == "jobs" and file.rows for file in tables.index.files),
        trouble=fleet.trouble,
        now_us=time.time_ns() // 1000,
    )
