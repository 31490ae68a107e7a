"""What came into the tables: the answer of `fleet ingest`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken away: parts that are in the tables, files no index names, blobs of dropped hours."""

    parts: int = 0
    hours: int = 0  # older than what is kept
    files: int = 0
    blobs: int = 0


@dataclass(frozen=True, slots=True)
class Ingested:
    """One round over all inboxes."""

    parts: int = 0  # that could be read
    added: Mapping[str, int] = field(default_factory=dict)  # rows that are new, by table
    rejected: Mapping[str, str] = field(default_factory=dict)  # parts that are none, and why; they stay
    odd_times: Mapping[str, int] = field(default_factory=dict)  # segments whose clock is in doubt, by host
    hours_written: int = 0
    removed: Removed = Removed()
    made_anew: bool = False  # the index was damaged or missing, and was made from the tables
    seconds: float = 0.0
