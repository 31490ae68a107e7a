"""Why hosts that should be alike are not: differences between snapshots, the likeliest to matter first.

necroscope drift good.json bad.json
necroscope drift --group healthy=zone-a/ --group failing=zone-b/

The first line is the difference that matters most, the second what is behind it, or the next one. Groups of
hosts are compared by counting: what goes with the symptom's group more than chance would have it comes first.
Exit code 1 means that there is a difference that matters, 0 that there is none.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.drift_files import SnapshotFiles, read_groups
from necroscope.cli.drift_text import drift_text
from necroscope.errors import CannotLookError, UsageError
from necroscope.inventory.drift.compare import LABELS, compare
from necroscope.inventory.drift.fact_table import FactTable
from necroscope.inventory.drift.host_sets import SICK_NAMES, Groups, sick_among
from necroscope.model.drift import Difference, Drift, FactByGroup

NOT_THERE = "(not there)"
LONGEST_VALUE = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `drift` understands."""
    parser.add_argument(
        "snapshots", nargs="*", metavar="FILE", help="snapshots, folders of them, or patterns"
    )
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="NAME=PATH[,PATH...]",
        help="hosts that are compared as one; a path is a file, a folder of *.json, or a pattern",
    )
    parser.add_argument(
        "--symptom",
        metavar="NAME",
        help=f"the group to be explained (default: one called {', '.join(SICK_NAMES)}; else the last)",
    )
    parser.add_argument(
        "--stratify",
        action="append",
        default=[],
        metavar="FACT",
        help="compare among hosts that are alike in this (default: every label, such as the instance type)",
    )
    parser.add_argument("--all", action="store_true", help="list incidental differences, too")


def run(arguments: argparse.Namespace) -> Answer:
    """Read the snapshots, and compare."""
    files, symptom = _wanted(arguments)
    if files.groups is not None and len(files.groups) < 2:
        raise UsageError("one group has nothing to be compared with", hint="--group NAME=PATH twice or more")
    read = read_groups(files)
    _check_strata(arguments.stratify, read.table)
    sets = (
        read.sets
        if files.groups is not None
        else {name: 1 << place for place, name in enumerate(read.table.hosts)}
    )
    drift = compare(read.table, Groups(sets, symptom), arguments.stratify)
    if not drift.facts:
        raise CannotLookError("the snapshots have no facts that could be compared")
    unread = [asdict(row) for row in read.unread]
    body = {**drift_document(drift), "unread": unread}
    code = int(any(difference.matters for difference in drift.differences))
    return Answer(code, body, lambda screen: "\n".join(drift_text(screen, drift, read.unread, arguments.all)))


def _wanted(arguments: argparse.Namespace) -> tuple[SnapshotFiles, str | None]:
    """Which files are compared, and which group is to be explained."""
    if not arguments.group:
        if arguments.symptom or arguments.stratify:
            word = "--symptom" if arguments.symptom else "--stratify"
            raise UsageError(f"{word} is for groups, and there is none", hint="--group NAME=PATH")
        if not arguments.snapshots:
            raise UsageError("no snapshot is named", hint="necroscope drift good.json bad.json")
        return SnapshotFiles(tuple(arguments.snapshots), None), None
    if arguments.snapshots:
        raise UsageError("hosts are compared one by one or in groups, not both", hint="--group NAME=PATH")
    groups: dict[str, tuple[str, ...]] = {}
    for text in arguments.group:
        name, equals, paths = text.partition("=")
        if not (name and equals and paths):
            raise UsageError(f"'{text}' is not NAME=PATH", hint="--group failing=zone-b/")
        groups[name] = (*groups.get(name, ()), *filter(None, paths.split(",")))
    return SnapshotFiles((), groups), _symptom(arguments.symptom, list(groups))


def _symptom(wanted: str | None, groups: list[str]) -> str:
    sick = sick_among(groups)
    if wanted is None and len(sick) > 1:
        raise UsageError(f"any of {', '.join(sick)} may be the group to be explained", hint="--symptom NAME")
    symptom = wanted or next(iter(sick), groups[-1])
    if symptom not in groups:
        raise UsageError(f"there is no group '{symptom}'", hint=f"--symptom {' or '.join(groups)}")
    return symptom


def _check_strata(wanted: list[str], table: FactTable) -> None:
    """Refuse a fact to compare within that no snapshot has: it would be like comparing within nothing."""
    for word in wanted:
        section, _, name = word.partition("/")
        if not (table.values(section, name) or table.values(LABELS, word)):
            raise UsageError(f"no snapshot has a fact '{word}'", hint="--stratify labels/instance_type")


def drift_document(drift: Drift) -> dict[str, Any]:
    """The answer for a program."""
    return {
        "groups": {name: {"hosts": hosts} for name, hosts in drift.groups.items()},
        "symptom": drift.symptom,
        "facts": drift.facts,
        "matter": sum(difference.matters for difference in drift.differences),
        "differences": [
            {"rank": rank, **_difference(difference)}
            for rank, difference in enumerate(drift.differences, start=1)
        ],
        "not_compared": [asdict(row) for row in drift.not_compared],
        "note": drift.note,
    }


def _difference(difference: Difference) -> dict[str, Any]:
    association = difference.association
    return {
        "fact": difference.lead.fact,
        "values": _values(difference.lead),
        "summary": difference.summary,
        "relevance": difference.relevance.value,
        "matters": difference.matters,
        "why": difference.why,
        "reference": difference.reference,
        "p": association.p if association else None,
        "q": association.q if association else None,
        "odds_ratio": association.odds_ratio if association else None,
        "interval": association.interval if association else None,
        "information_gain": association.information_gain_bits if association else None,
        "p_among_alike": difference.p_among_alike,
        "hosts": {_text(value): hosts for value, hosts in difference.hosts.items()},
        "together": [{"fact": fact.fact, "values": _values(fact)} for fact in difference.together],
        "same_split": difference.same_split,
        "cannot_tell_apart_from": difference.cannot_tell_apart_from,
        "explained_by": difference.explained_by,
        "because": asdict(difference.because) if difference.because else None,
        "cause_of": difference.cause_of,
    }


def _values(fact: FactByGroup) -> dict[str, dict[str, int]]:
    return {
        group: {_text(value): hosts for value, hosts in counts.items()}
        for group, counts in fact.values.items()
    }


def _text(value: str | None) -> str:
    """A value as a name in JSON; of a long one, its beginning and what tells it from others."""
    if value is None:
        return NOT_THERE
    if len(value) <= LONGEST_VALUE:
        return value
    return f"{value[:LONGEST_VALUE]}... sha256:{sha256(value.encode(errors='replace')).hexdigest()[:16]}"
