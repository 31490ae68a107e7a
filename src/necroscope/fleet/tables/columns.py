"""The columns of every table. An hour of a table is one Parquet file, its rows in the order of `ORDER`.

Names of events in `segments` are the kinds with underscores: `nic_reset`.
"""

from __future__ import annotations

import pyarrow as pa

from necroscope.model.event import EVENT_KINDS

NAME = pa.dictionary(pa.int32(), pa.string())  # few different values

SEGMENTS = pa.schema(
    [
        ("host", NAME),
        ("segment", pa.string()),
        ("boot_id", NAME),
        ("begin_us", pa.int64()),
        ("end_us", pa.int64()),
        ("recorded_us", pa.int64()),
        ("synchronised", pa.bool_()),
        ("cores", pa.int32()),
        ("samples", pa.int64()),
        ("saturated_core_us", pa.int64()),
        ("zombies", pa.int64()),
        ("tracked", pa.int64()),
        ("in_use", pa.int64()),
        ("wall_level", pa.int64()),
        ("facts", NAME),
        *((kind.replace("-", "_"), pa.int32()) for kind in EVENT_KINDS),
    ]
)
EVENTS = pa.schema(
    [
        ("host", NAME),
        ("boot_id", NAME),
        ("segment", pa.string()),
        ("facts", NAME),  # of the host at that time
        ("id", pa.string()),
        ("kind", NAME),
        ("time_us", pa.int64()),  # UTC
        ("time_ns", pa.int64()),  # CLOCK_MONOTONIC of its boot
        ("sequence", pa.int64()),
        ("rule", NAME),
        ("text", pa.string()),
        ("from_user_space", pa.bool_()),
        ("phase", NAME),
        ("device", NAME),
        ("bus", NAME),
        ("driver", NAME),
        ("queue", pa.int64()),
        ("core", pa.int64()),
        ("process", NAME),
        ("reason", pa.string()),
        ("pid", pa.int64()),
        ("stall_seconds", pa.float64()),
        ("napi_scheduled", pa.bool_()),
        ("seconds", pa.float64()),
        ("unit", NAME),
    ]
)
# What a host was made of: at a time its facts had this id; an id names sections; a section has facts.
FACTS = pa.schema([("host", NAME), ("time_us", pa.int64()), ("facts", NAME)])
FACT_SETS = pa.schema([("facts", NAME), ("section", NAME), ("section_id", NAME)])
SECTIONS = pa.schema([("section_id", NAME), ("name", pa.string()), ("value", pa.string())])
# Whole segments that were shipped; a file's bytes are the blob of that name below its host.
FILES = pa.schema(
    [
        ("host", NAME),
        ("segment", pa.string()),
        ("boot_id", NAME),
        ("begin_us", pa.int64()),
        ("end_us", pa.int64()),
        ("name", pa.string()),
        ("bytes", pa.int64()),
        ("sha256", pa.string()),
    ]
)
JOBS = pa.schema(
    [
        ("cluster", NAME),
        ("id", pa.string()),
        ("status", NAME),
        ("begin_us", pa.int64()),
        ("end_us", pa.int64()),
        ("hosts", pa.list_(pa.string())),
        ("unknown_nodes", pa.list_(pa.string())),  # that it ran on, too, by the names of the cluster
        ("error_type", NAME),
        ("exit_code", pa.int32()),
        ("message", pa.string()),
    ]
)
TABLES: dict[str, pa.Schema] = {
    "segments": SEGMENTS,
    "events": EVENTS,
    "facts": FACTS,
    "fact_sets": FACT_SETS,
    "sections": SECTIONS,
    "files": FILES,
    "jobs": JOBS,
}
# By which column a row belongs to an hour; those without are of no hour (`ALWAYS`).
TIMES = {
    "segments": "begin_us",
    "events": "time_us",
    "facts": "time_us",
    "files": "begin_us",
    "jobs": "end_us",
}
# What makes a row the same as another: it is in the table once.
KEYS: dict[str, tuple[str, ...]] = {
    "segments": ("host", "boot_id", "segment"),
    "events": ("host", "boot_id", "kind", "time_ns", "sequence"),
    "facts": ("host", "time_us"),
    "fact_sets": ("facts", "section"),
    "sections": ("section_id", "name"),
    "files": ("host", "boot_id", "segment", "name"),
    "jobs": ("cluster", "id"),
}
ORDER: dict[str, tuple[str, ...]] = {
    "segments": ("host", "begin_us"),
    "events": ("time_us", "host", "id"),
    "facts": ("host", "time_us"),
    "fact_sets": ("facts", "section"),
    "sections": ("section_id", "name"),
    "files": ("host", "begin_us", "name"),
    "jobs": ("end_us", "cluster", "id"),
}
