"""A snapshot: what a host is made of, taken without secrets, and its file.

The file is JSON with sorted names, so that two snapshots can be compared by any tool, and one that is taken
twice without a change is the same to the byte.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from necroscope.errors import SnapshotError
from necroscope.inventory.redaction.redact import printable, redact_facts, redact_text
from necroscope.inventory.sections.catalog import OF_RUNNING_MACHINES, SECTIONS
from necroscope.inventory.sections.gathered import Facts
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Absence, Reading
from necroscope.model.snapshot import MAX_SECTIONS, Snapshot
from necroscope.model.visible_text import escaped_json
from necroscope.sources.host import Host, read_whole

SCHEMA = 1
KIND = "necroscope-snapshot"


def take_snapshot(host: Host, labels: Mapping[str, str] | None = None) -> Snapshot:
    """All facts of a host, without secrets; `labels` are what its owner calls it."""
    subject = Subject(host, labels)
    facts: dict[str, Mapping[str, str]] = {}
    not_read: dict[str, str] = {}
    for name, read in SECTIONS.items():
        reading = _isolated(read, subject)
        if reading.value is not None:
            facts[name] = redact_facts(name, reading.value)
        if reason := _why_not_all(host, name, reading):
            not_read[name] = printable(redact_text(reason))
    return Snapshot(printable(host.name()), facts, not_read)


def snapshot_document(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as the file has it."""
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "host": snapshot.host,
        "facts": {section: dict(facts) for section, facts in snapshot.facts.items()},
        "not_read": dict(snapshot.not_read),
    }


def snapshot_text(snapshot: Snapshot) -> str:
    """The file's text, always the same for the same snapshot."""
    text = json.dumps(snapshot_document(snapshot), sort_keys=True, indent=1, ensure_ascii=False)
    return escaped_json(text) + "\n"


def read_snapshot(path: Path) -> Snapshot:
    """The snapshot in a file. Raises SnapshotError where it is none that we can read."""
    try:
        document = json.loads(read_whole(path))
    except OSError as error:
        raise SnapshotError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{path} is not a snapshot: it is not JSON", hint=HINT) from error
    if isinstance(document, dict) and isinstance(document.get("snapshot"), dict):
        document = document["snapshot"]  # what --json prints
    return _checked(path, document)


HINT = "`necroscope snapshot -o FILE` makes one"


def _checked(path: Path, document: Any) -> Snapshot:
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise SnapshotError(f"{path} is not a snapshot", hint=HINT)
    if document.get("schema") != SCHEMA:
        raise SnapshotError(
            f"{path} is of version {document.get('schema')}, and this program reads {SCHEMA}", hint=HINT
        )
    host, facts, not_read = (document.get(name) for name in ("host", "facts", "not_read"))
    not_read = not_read or {}
    if not (isinstance(host, str) and _is_text(not_read) and isinstance(facts, dict)):
        raise SnapshotError(f"{path}: a part of the snapshot is missing or of another kind", hint=HINT)
    if len(facts) > MAX_SECTIONS or len(not_read) > MAX_SECTIONS:
        what = f"{path}: a host cannot have more than {MAX_SECTIONS} sections of facts"
        raise SnapshotError(what, hint=HINT)
    for section, found in facts.items():
        if not _is_text(found):
            raise SnapshotError(f"{path}: the facts of {section} are not all text", hint=HINT)
    return Snapshot(host, facts, not_read)


def _is_text(found: Any) -> bool:
    return isinstance(found, dict) and all(isinstance(value, str) for value in found.values())


def _isolated(read: Callable[[Subject], Reading[Facts]], subject: Subject) -> Reading[Facts]:
    """One section; an error of ours in it loses no other."""
    try:
        return read(subject)
    except Exception as error:  # noqa: BLE001 - the one runner of sections, which records it
        return Reading(absence=Absence.BROKEN, detail=f"internal error: {type(error).__name__}: {error}")


def _why_not_all(host: Host, section: str, reading: Reading[Facts]) -> str:
    if reading.absence is None:
        return reading.detail
    if reading.absence is not Absence.NOT_SUPPORTED:
        return reading.reason
    if not host.is_live and section in OF_RUNNING_MACHINES:
        return "not running"
    return reading.detail or reading.reason
