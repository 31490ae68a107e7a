"""What a verb hands back to `main`: an exit code, a document for machines, a text for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from necroscope.cli.screen import Screen
from necroscope.model.visible_text import escaped_json

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one verb. `body` goes into the envelope of --json, `render` makes the text."""

    exit_code: int
    body: Mapping[str, Any]
    render: Callable[[Screen], str]
    ok: bool = True  # whether the verb could do all of its work


def envelope(verb: str, ok: bool, body: Mapping[str, Any]) -> str:
    """The one JSON object that every verb prints with --json.

    `ok` says that the verb could do its work; findings are a result, not a failure.
    """
    return escaped_json(json.dumps({"schema": SCHEMA, "verb": verb, "ok": ok, **body}))
