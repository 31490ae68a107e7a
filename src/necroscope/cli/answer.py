"""What a verb hands back to `main`: an exit code, a document for machines, a text for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from necroscope.cli.screen import Screen, note
from necroscope.model.advice import Advice
from necroscope.model.finding import Finding, Severity
from necroscope.model.visible_text import escaped_json

if TYPE_CHECKING:
    from necroscope.store.store import Damage

SCHEMA = 1
INTERRUPTED = 130  # the exit code after Ctrl-C


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one verb. `body` goes into the envelope of --json, `render` makes the text."""

    exit_code: int
    body: Mapping[str, Any]
    render: Callable[[Screen], str]
    ok: bool = True  # whether the verb could do all of its work


def findings_exit_code(findings: Sequence[Finding], *, interrupted: bool) -> int:
    """Return 1 if a finding is an alarm: on a working node, some CPU is always full of user-space work."""
    return INTERRUPTED if interrupted else int(any(one.severity is not Severity.INFO for one in findings))


def envelope(verb: str, ok: bool, body: Mapping[str, Any]) -> str:
    """The one JSON object that every verb prints with --json.

    `ok` says that the verb could do its work; findings are a result, not a failure.
    """
    return escaped_json(json.dumps({"schema": SCHEMA, "verb": verb, "ok": ok, **body}, default=_plain))


def _plain(noun: object) -> Any:
    """A noun of the model as JSON has it: its fields by their names; advice is a sentence."""
    if isinstance(noun, Advice):
        return str(noun)
    if isinstance(noun, Enum):
        return noun.value
    if is_dataclass(noun):
        return {field.name: getattr(noun, field.name) for field in fields(noun)}
    raise TypeError(f"{type(noun).__name__} cannot be written as JSON")


def note_damaged(damaged: Sequence[Damage]) -> list[dict[str, str]]:
    """Print a note for each segment that could not be read, and return the same for machines."""
    first = {damage.folder: damage for damage in reversed(damaged)}
    rows = [{"folder": str(folder), "what": first[folder].error.what} for folder in sorted(first)]
    for row in rows:
        note(f"left out: {row['what']}")
    return rows
