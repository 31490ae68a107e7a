"""The manual page of anything that has an id: a finding, an event, a rule, a cause, a remedy, an error."""

from __future__ import annotations

import argparse
import difflib
import inspect
from collections.abc import Iterator
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


def _explain(id: str) -> tuple[str, list[str], str]:
    """All that is known by one name: `nic-reset` is a finding and an event."""
    books = {
        "finding": _finding,
        "event": _event,
        "kernel log rule": _rule,
        "cause": _cause,
        "explanation": _explanation,
        "conclusion": _conclusion,
        "source": _source,
        "threshold": _threshold,
        "remedy": _remedy,
        "action": _action,
        "quantity": _quantity,
        "error": _error,
    }
    found = {kind: text for kind, page in books.items() if (text := page(id))}
    if not found:
        near = difflib.get_close_matches(id, all_ids(), n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "necroscope list prints all ids"
        raise UsageError(f"nothing is called '{id}'", hint=hint)
    return id, list(found), "\n\n".join(found.values())


def all_ids() -> list[str]:
    """Every id that can be explained."""
    ids = [detector.id for detector in ALL_DETECTORS]
    ids += [source.id for source in SOURCES]
    rules = [rule.id for rule in kernel_log_rules()]
    causes = load_causes()
    rules += [link.id for link in causes.links] + [rival.id for rival in causes.rivals]
    rules += [conclusion.id for conclusion in causes.conclusions]
    treating = [*REMEDIES, *action_pages(), *quantity_pages()]
    return [*dict.fromkeys([*ids, *EVENT_KINDS, *rules, *default_thresholds(), *treating, *ERRORS])]


def _finding(id: str) -> str:
    for detector in DETECTORS:
        if detector.id == id:
            needs = ", ".join(source.id for source in detector.needs)
            uses = ", ".join(source.id for source in detector.uses)
            looks = f"Looks at {needs}" + (f"; sees more with {uses}." if uses else ".")
            return "\n\n".join([detector.doc, looks, *_thresholds(id)])
    return next((one.doc for one in UNIT_DETECTORS if one.id == id), "")


def _thresholds(detector: str) -> Iterator[str]:
    for threshold in default_thresholds().values():
        if threshold.name.startswith(f"{detector}."):
            yield f"{threshold.name} = {threshold.value:g} {threshold.unit}: {threshold.why}"


def _event(id: str) -> str:
    if id not in EVENT_KINDS:
        return ""
    rules = [rule for rule in kernel_log_rules() if rule.event == id]
    if not rules:
        return f"As an event: {EVENT_KINDS[id]}. The recorder finds it in what it reads."
    lines = "\n".join(f"    {rule.id}" for rule in rules)
    return f"As an event: {EVENT_KINDS[id]}. Recognised by these kernel log rules:\n\n{lines}"


def _rule(id: str) -> str:
    for rule in kernel_log_rules():
        if rule.id == id:
            drivers = f" Drivers: {', '.join(sorted(rule.drivers))}." if rule.drivers else ""
            since = f" Wording of {rule.since}." if rule.since else ""
            return f"{rule.means} Event: {rule.event}.{drivers}{since}\n\n    {rule.pattern.pattern}"
    return ""


def _cause(id: str) -> str:
    for link in load_causes().links:
        if link.id == id:
            needs = ", ".join((*link.when, *link.needs, *link.may_lack))
            supports = f" Stronger with: {', '.join(link.supports)}." if link.supports else ""
            supports += f" Fair at most without: {', '.join(map(bare, link.bounds))}." if link.bounds else ""
            steps = f"{link.cause}\n\n=> {link.effect}"
            manual = f"See {link.reference}. Refuted if {link.refuted_by}."
            if link.remedies:
                manual += f" Broken by: {', '.join(link.remedies)}."
            return as_manual(f"{steps}\n\nNeeds: {needs}.{supports}\n\n{manual}")
    return ""


def _explanation(id: str) -> str:
    for rival in load_causes().rivals:
        if rival.id == id:
            return f"An explanation to rule out: {rival.explanation}. Out if: {', '.join(rival.out)}."
    return ""


def _conclusion(id: str) -> str:
    for conclusion in load_causes().conclusions:
        if conclusion.id == id:
            when = (
                f"Said if: {', '.join(conclusion.when)}." if conclusion.when else "Said if nothing else fits."
            )
            return as_manual(f"{conclusion.verdict}\n\n{when} Of: {', '.join(conclusion.of)}.")
    return ""


def _source(id: str) -> str:
    return next((source.doc for source in SOURCES if source.id == id), "")


def _threshold(id: str) -> str:
    threshold = default_thresholds().get(id)
    return f"{threshold.value:g} {threshold.unit}. {threshold.why}" if threshold else ""


def _remedy(id: str) -> str:
    if id not in REMEDIES:
        return ""
    from necroscope.remedies.catalog import ALL_REMEDIES  # all that they plan with, for their pages alone

    plan = fix_command(id, SUBJECTS.get(id, ""))
    return f"{ALL_REMEDIES[id].doc}\n\nTo plan it, which changes nothing: {plan}"


def _action(id: str) -> str:
    page = action_pages().get(id, "")
    return f"A step of a plan: {page}" if page else ""


def _quantity(id: str) -> str:
    return quantity_pages().get(id, "")


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
    error = ERRORS.get(id)
    return f"{inspect.getdoc(error)}\n\nExit code {error.exit_code}." if error else ""
