"""The manual page of anything that has an id: a finding, an event, a rule, a cause, a remedy, an error."""

from __future__ import annotations

import argparse
import difflib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from necroscope.cli.answer import Answer
from necroscope.diagnosis.causes import as_manual, load_causes
from necroscope.diagnosis.fact import bare
from necroscope.errors import ERRORS, UsageError
from necroscope.findings.catalog import ALL_DETECTORS, DETECTORS, UNIT_DETECTORS
from necroscope.model.advice import fix_command
from necroscope.model.event import EVENT_KINDS
from necroscope.model.remedy_ids import REMEDIES, SUBJECTS
from necroscope.signals.kernel_log_events import kernel_log_rules
from necroscope.signals.thresholds import default_thresholds
from necroscope.sources.catalog import SOURCES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `explain` understands."""
    parser.add_argument(
        "ids", nargs="+", metavar="ID", help="what to explain; `necroscope list` prints all ids"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """The pages of all ids asked for."""
    pages = [_explain(id) for id in arguments.ids]
    body = {"pages": [{"id": id, "kinds": kinds, "text": text} for id, kinds, text in pages]}
    return Answer(
        0,
        body,
        lambda screen: "\n\n".join(
            f"{screen.paint(id, 'bold')} ({', '.join(kinds)})\n\n{screen.page(text)}"
            for id, kinds, text in pages
        ),
    )


@dataclass(frozen=True, slots=True)
class Book:
    """All things of one kind: a line about each by its id, and the page of one."""

    kind: str
    lines: Callable[[], dict[str, str]]
    page: Callable[[str], str]


def _explain(id: str) -> tuple[str, list[str], str]:
    """All that is known by one name: `nic-reset` is a finding and an event."""
    found = {book.kind: book.page(id) for book in BOOKS.values() if id in book.lines()}
    if not found:
        near = difflib.get_close_matches(id, all_ids(), n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "necroscope list prints all ids"
        raise UsageError(f"nothing is called '{id}'", hint=hint)
    return id, list(found), "\n\n".join(found.values())


def all_ids() -> list[str]:
    """Every id that can be explained."""
    return [*dict.fromkeys(id for book in BOOKS.values() for id in book.lines())]


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0].rstrip(".")


def _finding(id: str) -> str:
    for detector in DETECTORS:
        if detector.id == id:
            needs = ", ".join(source.id for source in detector.needs)
            uses = ", ".join(source.id for source in detector.uses)
            looks = f"Looks at {needs}" + (f"; sees more with {uses}." if uses else ".")
            return "\n\n".join([detector.doc, looks, *_thresholds(id)])
    return next(one.doc for one in UNIT_DETECTORS if one.id == id)


def _thresholds(detector: str) -> Iterator[str]:
    for threshold in default_thresholds().values():
        if threshold.name.startswith(f"{detector}."):
            yield f"{threshold.name} = {threshold.value:g} {threshold.unit}: {threshold.why}"


def _event(id: str) -> str:
    rules = [rule for rule in kernel_log_rules() if rule.event == id]
    if not rules:
        return f"As an event: {EVENT_KINDS[id]}. The recorder finds it in what it reads."
    lines = "\n".join(f"    {rule.id}" for rule in rules)
    return f"As an event: {EVENT_KINDS[id]}. Recognised by these kernel log rules:\n\n{lines}"


def _rule(id: str) -> str:
    rule = next(rule for rule in kernel_log_rules() if rule.id == id)
    drivers = f" Drivers: {', '.join(sorted(rule.drivers))}." if rule.drivers else ""
    since = f" Wording of {rule.since}." if rule.since else ""
    return f"{rule.means} Event: {rule.event}.{drivers}{since}\n\n    {rule.pattern.pattern}"


def _cause(id: str) -> str:
    link = next(link for link in load_causes().links if link.id == id)
    needs = ", ".join((*link.when, *link.needs, *link.may_lack))
    supports = f" Stronger with: {', '.join(link.supports)}." if link.supports else ""
    supports += f" Fair at most without: {', '.join(map(bare, link.bounds))}." if link.bounds else ""
    manual = f"See {link.reference}. Refuted if {link.refuted_by}."
    if link.remedies:
        manual += f" Broken by: {', '.join(link.remedies)}."
    return as_manual(f"{link.cause}\n\n=> {link.effect}\n\nNeeds: {needs}.{supports}\n\n{manual}")


def _explanation(id: str) -> str:
    rival = next(rival for rival in load_causes().rivals if rival.id == id)
    return f"An explanation to rule out: {rival.explanation}. Out if: {', '.join(rival.out)}."


def _conclusion(id: str) -> str:
    one = next(conclusion for conclusion in load_causes().conclusions if conclusion.id == id)
    when = f"Said if: {', '.join(one.when)}." if one.when else "Said if nothing else fits."
    return as_manual(f"{one.verdict}\n\n{when} Of: {', '.join(one.of)}.")


def _source(id: str) -> str:
    return next(source.doc for source in SOURCES if source.id == id)


def _threshold(id: str) -> str:
    threshold = default_thresholds()[id]
    return f"{threshold.value:g} {threshold.unit}. {threshold.why}"


def _remedy(id: str) -> str:
    from necroscope.remedies.plan.catalog import (
        ALL_REMEDIES,  # all that they plan with, for their pages alone
    )

    plan = fix_command(id, SUBJECTS.get(id, ""))
    return f"{ALL_REMEDIES[id].doc}\n\nTo plan it, which changes nothing: {plan}"


def action_pages() -> dict[str, str]:
    """The page of every kind of change, by id: it stands in front of its code."""
    from necroscope.remedies.actions.catalog import ALL_ACTIONS

    folder = "necroscope.remedies.actions"
    modules = {id: import_module(f"{folder}.{id.replace('-', '_')}") for id in ALL_ACTIONS}
    return {id: inspect.getdoc(module) or "" for id, module in modules.items()}


def quantity_pages() -> dict[str, str]:
    """The page of everything that `verify` compares, by id."""
    from necroscope.remedies.verify.quantities import QUANTITIES

    return {
        one.id: f"{one.what}, in {one.unit}\n\n"
        "A quantity that `verify` compares before and after a fix; less is better."
        f" Read from {one.read_from}, every {_pace(one.pace_seconds)}.\n\n"
        f"Not troubled up to {one.floor:,g}: {one.floor_why}."
        for one in QUANTITIES.values()
    }


def _pace(seconds: float) -> str:
    return "second" if seconds == 1 else f"{seconds:g} seconds"


def _error(id: str) -> str:
    return f"{inspect.getdoc(ERRORS[id])}\n\nExit code {ERRORS[id].exit_code}."


BOOKS = {
    "sources": Book("source", lambda: {one.id: _first_line(one.doc) for one in SOURCES}, _source),
    "detectors": Book("finding", lambda: {one.id: _first_line(one.doc) for one in ALL_DETECTORS}, _finding),
    "events": Book("event", lambda: EVENT_KINDS, _event),
    "rules": Book("kernel log rule", lambda: {one.id: one.means for one in kernel_log_rules()}, _rule),
    "causes": Book(
        "cause",
        lambda: {one.id: as_manual(f"{one.cause} => {one.effect}") for one in load_causes().links},
        _cause,
    ),
    "explanations": Book(
        "explanation", lambda: {one.id: one.explanation for one in load_causes().rivals}, _explanation
    ),
    "conclusions": Book(
        "conclusion",
        lambda: {one.id: as_manual(one.verdict) for one in load_causes().conclusions},
        _conclusion,
    ),
    "thresholds": Book("threshold", lambda: {id: _threshold(id) for id in default_thresholds()}, _threshold),
    "errors": Book(
        "error",
        lambda: {id: _first_line(inspect.getdoc(error) or "") for id, error in ERRORS.items()},
        _error,
    ),
    "remedies": Book("remedy", lambda: REMEDIES, _remedy),
    "actions": Book(
        "action",
        lambda: {id: _first_line(page) for id, page in action_pages().items()},
        lambda id: f"A step of a plan: {action_pages()[id]}",
    ),
    "quantities": Book(
        "quantity",
        lambda: {id: _first_line(page) for id, page in quantity_pages().items()},
        lambda id: quantity_pages()[id],
    ),
}
