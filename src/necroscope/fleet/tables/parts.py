"""What a host has told, part by part: checked, and as rows of tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import pyarrow as pa

from necroscope.fleet.place.canonical import SHORT, canonical, digest_of
from necroscope.fleet.tables.columns import KEYS, TABLES, TIMES
from necroscope.fleet.tables.download_segments import is_inside, is_plain
from necroscope.model.event import EVENT_KINDS
from necroscope.model.snapshot import MAX_SECTIONS
from necroscope.model.timestamp import HOUR_US, LATEST_US

FARTHEST = 2**62
SCHEMA = 1
PART = re.compile(
    r"(?P<owners>hosts|clusters)/(?P<owner>[^/]+)/inbox/(?P<name>[^/]+)-(?P<digest>[0-9a-f]{16})\.json"
)
SHA256 = re.compile(r"[0-9a-f]{64}")
MAX_PART_BYTES = 32 << 20
MAX_REASON = 200  # characters: reasons quote what a host wrote, and the index keeps a thousand of them
MAX_ROWS = 100_000  # of a part: events of hosts fill MAX_PART_BYTES with 80,000
MAX_HOURS = 48  # that a part may touch: each becomes a file; a segment has at most some hours
MAX_FACTS = 100_000  # of a host: ours have some thousands
MAX_FACTS_BYTES = 16 << 20  # of all sections of a host: ours have less than 1 MB
Rows = dict[str, list[dict[str, Any]]]


class RejectedError(Exception):
    """Something in an inbox is not a part that we can read. It says why, shortly."""

    def __init__(self, why: str) -> None:
        super().__init__(why if len(why) <= MAX_REASON else f"{why[: MAX_REASON - 3]}...")


@dataclass(frozen=True, slots=True)
class Part:
    """Rows by table; and of facts the sections, whose own facts are in blobs of the host."""

    name: str
    host: str
    rows: Rows
    sections: Mapping[str, str] = field(default_factory=dict)  # section: id
    is_synchronised: bool = True


def part_order(name: str) -> str:
    """By the time that a part's name has, whatever its host: hours come one after the other."""
    _, _, rest = name.rpartition("/")
    return rest.partition("-")[2]


def parse_part(name: str, content: bytes) -> Part:
    """The part that is in an object. RejectedError: it is none."""
    match = PART.fullmatch(name)
    if not match or not is_plain(match["owner"]):
        raise RejectedError("its name is not that of a part")
    if digest_of(content)[:SHORT] != match["digest"]:
        raise RejectedError("its content is not what its name says: it is damaged")
    try:
        document = json.loads(content)
        if document["schema"] != SCHEMA:
            raise RejectedError(f"schema {document['schema']!r}, not {SCHEMA}: a newer necroscope sent it")
        owner = match["owners"].removesuffix("s")
        if document[owner] != match["owner"]:
            raise RejectedError(f"it speaks of another {owner}: {str(document[owner])[:100]!r}")
        readers = READERS if owner == "host" else READERS_OF_CLUSTERS
        read = readers.get(document["kind"])
        if read is None:
            raise RejectedError(f"a part of an unknown kind: {str(document['kind'])[:50]!r}")
        return read(name, document)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        missing = "it has no " if isinstance(error, KeyError) else ""
        raise RejectedError(f"{missing}{error}") from error


def parse_section(
    section: str, section_id: str, content: bytes | None, max_facts: int = MAX_FACTS
) -> list[dict[str, Any]]:
    """Return the facts of a section as rows. RejectedError if its blob is missing, damaged or too large."""
    if content is None:
        raise RejectedError(f"the facts of its section '{section}' are not there")
    if digest_of(content) != section_id:
        raise RejectedError(f"the facts of its section '{section}' are damaged")
    try:
        document = json.loads(content)
        if document["section"] != section:
            raise RejectedError(f"the facts of its section '{section}' are of another")
        if len(document["facts"]) > max_facts:
            raise RejectedError(f"a host cannot have more than {MAX_FACTS:,} facts")
        return [
            checked_row("sections", {"section_id": section_id, "name": name, "value": value})
            for name, value in document["facts"].items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RejectedError(f"the facts of its section '{section}' are none: {error}") from error


def _segment(name: str, document: Mapping[str, Any]) -> Part:
    whole = {**document["segment"], "host": document["host"]}
    if not is_plain(str(whole.get("segment"))):
        raise ValueError(f"{str(whole.get('segment'))[:100]!r} is not the name of a segment")
    counts = {kind.replace("-", "_"): document["counts"].get(kind, 0) for kind in EVENT_KINDS}
    segment = checked_row("segments", {**whole, **counts})
    its = {column: segment[column] for column in ("host", "boot_id", "segment", "facts")}
    events = [checked_row("events", {**event, **its}) for event in _bounded(document["events"])]
    begin_us, end_us = segment["begin_us"], segment["end_us"] or segment["begin_us"]
    for event in events:
        if not begin_us - HOUR_US <= event["time_us"] <= end_us + HOUR_US:
            raise ValueError(f"an event at {event['time_us']} is not of its segment")
    if len({event["time_us"] // HOUR_US for event in events}) > MAX_HOURS:
        raise ValueError(f"its events are of more than {MAX_HOURS} hours")
    is_synchronised = segment["synchronised"] is not False
    return Part(name, document["host"], {"segments": [segment], "events": events}, {}, is_synchronised)


def _facts(name: str, document: Mapping[str, Any]) -> Part:
    sections = document["sections"]
    facts = document["facts"]
    if len(sections) > MAX_SECTIONS:
        raise ValueError(f"a host cannot have more than {MAX_SECTIONS} sections of facts")
    if digest_of(canonical(sections)) != facts:
        raise ValueError("its sections are not those of its facts")
    if bad := [one for one in sections.values() if not SHA256.fullmatch(one)]:
        raise ValueError(f"{bad[0][:100]!r} is not the id of a section")
    sets = [
        checked_row("fact_sets", {"facts": facts, "section": section, "section_id": section_id})
        for section, section_id in sections.items()
    ]
    return Part(
        name, document["host"], {"facts": [checked_row("facts", document)], "fact_sets": sets}, sections
    )


def _files(name: str, document: Mapping[str, Any]) -> Part:
    if not is_plain(document["segment"]):
        raise ValueError(f"{document['segment'][:100]!r} is not the name of a segment")
    rows = [checked_row("files", {**file, **document}) for file in _bounded(document["files"])]
    for row in rows:
        if not is_inside(row["name"]):
            raise ValueError(f"a file '{row['name'][:100]}' would lie outside of its segment")
        if not SHA256.fullmatch(row["sha256"] or "") or (row["bytes"] or 0) < 0:
            raise ValueError(f"the file {row['name'][:100]} is not told by size and sha256")
    return Part(name, document["host"], {"files": rows})


def _jobs(name: str, document: Mapping[str, Any]) -> Part:
    cluster = document["cluster"]
    return Part(
        name,
        cluster,
        {"jobs": [checked_row("jobs", {**row, "cluster": cluster}) for row in _bounded(document["jobs"])]},
    )


def _bounded(rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if len(rows) > MAX_ROWS:
        raise ValueError(f"a part cannot have more than {MAX_ROWS:,} rows")
    return rows


READERS: dict[str, Callable[[str, Mapping[str, Any]], Part]] = {
    "segment": _segment,
    "facts": _facts,
    "files": _files,
}
# What a host may not tell: jobs are told by who asks their cluster.
READERS_OF_CLUSTERS: dict[str, Callable[[str, Mapping[str, Any]], Part]] = {"jobs": _jobs}


def checked_row(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the table from a row, null where it has none. ValueError: a value cannot be one."""
    made = {}
    for name, fits in CHECKS[table]:
        value = made[name] = row.get(name)
        if value is not None and not fits(value):
            raise ValueError(f"{name} cannot be {str(value)[:50]!r}")
    for name in FRACTIONS[table]:  # a whole number of more digits than a fraction has cannot be converted
        if (fraction := made[name]) is not None:
            made[name] = float(fraction)
    for name in KEYS[table]:
        if made[name] is None:
            raise ValueError(f"a row of {table} has no {name}")
    if table in TIMES and not 0 <= (time_us := made[TIMES[table]] or -1) < LATEST_US:
        raise ValueError(f"{TIMES[table]} is no time: {time_us}")
    return made


def _is_text(value: Any) -> bool:
    """Half a character cannot be written."""
    try:
        return isinstance(value, str) and (value.isascii() or bool(value.encode()))
    except UnicodeEncodeError:
        return False


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_fraction(value: Any) -> bool:
    return (_is_whole(value) or isinstance(value, float)) and isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -FARTHEST <= value < FARTHEST


def _is_small(value: Any) -> bool:
    return _is_whole(value) and -(2**31) <= value < 2**31


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _check(kind: pa.DataType) -> Callable[[Any], bool]:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known = {
        pa.string(): _is_text,
        pa.bool_(): _is_truth,
        pa.float64(): _is_fraction,
        pa.int64(): _is_whole,
        pa.int32(): _is_small,
    }
    return known.get(kind, _are_texts)


CHECKS = {
    table: tuple((field.name, _check(field.type)) for field in schema) for table, schema in TABLES.items()
}
FRACTIONS = {
    table: tuple(field.name for field in schema if field.type == pa.float64())
    for table, schema in TABLES.items()
}
