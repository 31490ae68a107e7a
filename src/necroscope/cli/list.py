"""What there is: every source, detector, event, rule, cause, threshold, remedy and quantity, by its id."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable

from necroscope.cli.answer import Answer
from necroscope.cli.explain import action_pages, quantity_pages
from necroscope.cli.screen import Screen
from necroscope.diagnosis.causes import as_manual, load_causes
from necroscope.errors import ERRORS, UsageError
from necroscope.findings.catalog import ALL_DETECTORS
from necroscope.model.event import EVENT_KINDS
from necroscope.model.remedy_ids import REMEDIES
from necroscope.signals.kernel_log_events import kernel_log_rules
from necroscope.signals.thresholds import default_thresholds
from necroscope.sources.catalog import SOURCES

Rows = list[tuple[str, str]]


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0].rstrip(".")


KINDS: dict[str, Callable[[], Rows]] = {
    "sources": lambda: [(source.id, _first_line(source.doc)) for source in SOURCES],
    "detectors": lambda: [(one.id, _first_line(one.doc)) for one in ALL_DETECTORS],
    "events": lambda: list(EVENT_KINDS.items()),
    "rules": lambda: [(rule.id, rule.means) for rule in kernel_log_rules()],
    "causes": lambda: [(one.id, as_manual(f"{one.cause} => {one.effect}")) for one in load_causes().links],
    "explanations": lambda: [(one.id, one.explanation) for one in load_causes().rivals],
    "conclusions": lambda: [(one.id, as_manual(one.verdict)) for one in load_causes().conclusions],
    "thresholds": lambda: [(t.name, f"{t.value:g} {t.unit}. {t.why}") for t in default_thresholds().values()],
    "errors": lambda: [(slug, _first_line(inspect.getdoc(error) or "")) for slug, error in ERRORS.items()],
    "remedies": lambda: list(REMEDIES.items()),
    "actions": lambda: [(id, _first_line(page)) for id, page in action_pages().items()],
    "quantities": lambda: [(id, _first_line(page)) for id, page in quantity_pages().items()],
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `list` understands."""
    parser.add_argument(
        "kinds", nargs="*", metavar="KIND", help=f"one or more of: {', '.join(KINDS)} (default: all)"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """All things of the kinds asked for."""
    kinds = [kind for word in arguments.kinds for kind in word.split(",") if kind] or list(KINDS)
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"there is nothing to list called '{kind}'", hint=f"one of: {', '.join(KINDS)}")
    lists = {kind: KINDS[kind]() for kind in kinds}
    body: dict[str, list[dict[str, object]]] = {
        kind: [{"id": id, "summary": summary} for id, summary in rows] for kind, rows in lists.items()
    }
    for row in body.get("thresholds", []):
        threshold = default_thresholds()[str(row["id"])]
        row |= {"summary": threshold.why, "value": threshold.value, "unit": threshold.unit}
    return Answer(
        0, body, lambda screen: "\n\n".join(_section(screen, kind, rows) for kind, rows in lists.items())
    )


def _section(screen: Screen, kind: str, rows: Rows) -> str:
    return f"{screen.paint(kind, 'bold')}\n{screen.table(rows) if rows else '  none in this version'}"
