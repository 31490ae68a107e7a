"""What was found in the segments of the last minutes, so that each is looked through once.

A file beside the segments, which can be deleted: they are looked through again then.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from necroscope import __version__
from necroscope.findings.node_state_json import finding_row, parse_finding
from necroscope.model.node_state import ActiveFinding
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.plain_files import read_plain
from necroscope.store.durable import write_durably

MEMORY = ".findings.json"
MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Looked:
    """What some detectors said of a stretch of time."""

    findings: tuple[ActiveFinding, ...] = ()
    checked: tuple[str, ...] = ()
    not_checked: Mapping[str, str] = field(default_factory=dict)  # why, by detector


@dataclass(slots=True)
class Memory:
    """By the name of a segment. Nothing is known under other thresholds, in another boot or version."""

    key: str
    until_ns: int = 0  # the end of what was examined last, on the recording's clock
    segments: dict[str, Looked] = field(default_factory=dict)

    def keep(self, names: Iterable[str], until_ns: int) -> None:
        """Forget all other segments."""
        self.segments = {name: self.segments[name] for name in names if name in self.segments}
        self.until_ns = until_ns


def read_memory(folder: Path, boot_id: str, thresholds: Thresholds) -> Memory:
    """What the last one knew, or nothing."""
    words = json.dumps([__version__, boot_id, sorted(thresholds.items())])
    key = hashlib.sha256(words.encode()).hexdigest()[:16]
    # Not there, or not whole.
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        document = json.loads(read_plain(folder / MEMORY, MAX_BYTES))
        if document["key"] == key:
            segments = {name: _parse(row) for name, row in document["segments"].items()}
            return Memory(key, int(document["until_ns"]), segments)
    return Memory(key)


def write_memory(folder: Path, memory: Memory) -> None:
    """Keep it for the next one; a full disk is no reason to fail."""
    segments = {name: _row(looked) for name, looked in memory.segments.items()}
    document = {"key": memory.key, "until_ns": memory.until_ns, "segments": segments}
    with suppress(OSError):
        write_durably(folder / MEMORY, json.dumps(document).encode())


def _row(looked: Looked) -> dict[str, Any]:
    return {
        "findings": [finding_row(finding) for finding in looked.findings],
        "checked": looked.checked,
        "not_checked": looked.not_checked,
    }


def _parse(row: Mapping[str, Any]) -> Looked:
    findings = tuple(parse_finding(one) for one in row["findings"])
    return Looked(findings, tuple(row["checked"]), dict(row["not_checked"]))
