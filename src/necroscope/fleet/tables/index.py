"""The index of a fleet: which file holds which hour of which table. It is one object, replaced as a whole.

    index.json
    tables/segments/20261118T02-3f9a1c0b7d5e2a46.parquet

A file is named by its content and never changes: who has read an index can go on reading what it names for
an hour after another has taken its place.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from necroscope.errors import StoreError
from necroscope.model.timestamp import HOUR_US, hour_begin_us, hour_of

SCHEMA = 1
INDEX = "index.json"
MAX_INDEX_BYTES = 16 << 20  # of 10,000 hosts and a week: 1 MB
SHA256 = re.compile(r"[0-9a-f]{64}")
FILE = re.compile(r"tables/(?P<table>[a-z_]+)/(?P<hour>[0-9]{8}T[0-9]{2}|always)-[0-9a-f]{16}\.parquet")
ALWAYS = "always"  # the hour of what belongs to no hour
MAX_FILE_BYTES = 1 << 30  # of a table: an hour of 10,000 hosts takes 30 MB


class DamagedIndexError(StoreError):
    """The index is none. What it names is still there."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """One hour of one table."""

    table: str
    hour: str  # 20261118T02, UTC; or ALWAYS
    name: str  # below the place
    rows: int
    bytes: int
    sha256: str

    @property
    def begin_us(self) -> int:
        """When its hour begins; 0 where it is of no hour."""
        return 0 if self.hour == ALWAYS else hour_begin_us(self.hour)


@dataclass(frozen=True, slots=True)
class Index:
    """All files of all tables."""

    made_us: int = 0
    files: tuple[TableFile, ...] = ()
    rejected: Mapping[str, str] = field(default_factory=dict)  # parts that are none, and why
    # Files that an index before this one named, and since when that is over: they go an hour later.
    replaced: Mapping[str, int] = field(default_factory=dict)

    def of(self, table: str, begin_us: int, end_us: int) -> list[TableFile]:
        """The files that may have rows of a range of time, in the order of time."""
        return sorted(
            (
                file
                for file in self.files
                if file.table == table
                and (file.hour == ALWAYS or (file.begin_us < end_us and file.begin_us + HOUR_US > begin_us))
            ),
            key=lambda file: (file.hour, file.name),
        )


def table_file(table: str, hour: str, content: bytes, rows: int) -> TableFile:
    """The entry of a file that is being written."""
    digest = hashlib.sha256(content).hexdigest()
    return TableFile(table, hour, f"tables/{table}/{hour}-{digest[:16]}.parquet", rows, len(content), digest)


def index_bytes(index: Index) -> bytes:
    """The index as it is stored."""
    document = {"schema": SCHEMA, **asdict(index)}
    return json.dumps(document, sort_keys=True).encode()


def _table_file(*, table: str, hour: str, name: str, rows: int, bytes: int, sha256: str) -> TableFile:  # noqa: PLR0913 - as stored
    """Return an entry; its hash becomes a path, its hour a time. Raises ValueError, TypeError.

    DuckDB opens its name, and would expand a `*` in it, also through links.
    """
    if not SHA256.fullmatch(sha256) or not all(map(_is_number, (rows, bytes))) or bytes > MAX_FILE_BYTES:
        raise ValueError(f"the file {name!r:.80} has no sha256 or size")
    if hour != ALWAYS and hour != hour_of(hour_begin_us(hour)):
        raise ValueError(f"{hour!r:.80} is not an hour")
    match = FILE.fullmatch(name)
    if not match or (match["table"], match["hour"]) != (table, hour):
        raise ValueError(f"{name!r:.80} is not the name of a file of a table")
    return TableFile(table, hour, name, rows, bytes, sha256)


def _is_map_of(kind: type, value: object) -> bool:
    return isinstance(value, dict) and all(type(one) is kind for one in value.values())


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def parse_index(content: bytes) -> Index:
    """The index in an object. StoreError: it is of another version; DamagedIndexError: it is none."""
    try:
        document: Any = json.loads(content)
        if document["schema"] != SCHEMA:
            raise StoreError(
                f"{INDEX}: schema {document['schema']!r:.80}, not {SCHEMA}", hint="a newer necroscope made it"
            )
        files = tuple(_table_file(**file) for file in document["files"])
        rejected, replaced = document["rejected"], document.get("replaced", {})
        is_right = _is_map_of(str, rejected) and _is_map_of(int, replaced) and _is_number(document["made_us"])
        if not is_right:
            raise ValueError("it has values of another kind")
        return Index(document["made_us"], files, rejected, replaced)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = "necroscope fleet ingest makes it anew; the tables are not lost"
        raise DamagedIndexError(f"{INDEX} is damaged: {error}", hint=hint) from error
