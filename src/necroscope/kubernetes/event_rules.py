"""Which events the cluster is told of, by rules that are data (rules/events.toml)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class EventRule:
    """How one kind of event is told."""

    reason: str
    tells_pods: bool


@cache
def event_rules() -> dict[str, EventRule]:
    """All kinds that are told."""
    return {
        kind: EventRule(row["reason"], row.get("pods", False)) for kind, row in _tables()["events"].items()
    }


def events_not_told() -> dict[str, str]:
    """The other kinds, and why they are not."""
    return dict(_tables()["not_events"])


def _tables() -> dict[str, Any]:
    return tomllib.loads(files("necroscope.kubernetes").joinpath("rules/events.toml").read_text())
