"""What there is: every source, detector, event, rule, cause, threshold, remedy and quantity, by its id."""

from __future__ import annotations

import argparse

from necroscope.cli.answer import Answer
from necroscope.cli.explain import BOOKS
from necroscope.cli.screen import Screen
from necroscope.errors import UsageError
from necroscope.signals.thresholds import default_thresholds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `list` understands."""
    parser.add_argument(
        "kinds", nargs="*", metavar="KIND", help=f"one or more of: {', '.join(BOOKS)} (default: all)"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """All things of the kinds asked for."""
    kinds = [kind for word in arguments.kinds for kind in word.split(",") if kind] or list(BOOKS)
    for kind in kinds:
        if kind not in BOOKS:
            raise UsageError(f"there is nothing to list called '{kind}'", hint=f"one of: {', '.join(BOOKS)}")
    lists = {kind: BOOKS[kind].lines() for kind in kinds}
    body: dict[str, list[dict[str, object]]] = {
        kind: [{"id": id, "summary": summary} for id, summary in rows.items()] for kind, rows in lists.items()
    }
    for row in body.get("thresholds", []):
        threshold = default_thresholds()[str(row["id"])]
        row |= {"summary": threshold.why, "value": threshold.value, "unit": threshold.unit}
    return Answer(
        0, body, lambda screen: "\n\n".join(_section(screen, kind, rows) for kind, rows in lists.items())
    )


def _section(screen: Screen, kind: str, rows: dict[str, str]) -> str:
    return f"{screen.paint(kind, 'bold')}\n{screen.table(rows.items()) if rows else '  none in this version'}"
