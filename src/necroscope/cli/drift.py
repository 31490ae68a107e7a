"""Why hosts that should be alike are not: differences between snapshots, the likeliest to matter first.

necroscope drift good.json bad.json
necroscope drift --group healthy=zone-a/ --group failing=zone-b/

The first line is the difference that matters most, the second what is behind it, or the next one. Groups of
hosts are compared by counting: what goes with the symptom's group more than chance would have it comes first.
Exit code 1 means that there is a difference that matters, 0 that there is none.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.drift_files import SnapshotFiles, Unread, read_groups
from necroscope.cli.screen import Screen
from necroscope.errors import CannotLookError, UsageError
from necroscope.inventory.drift.compare import LABELS, compare
from necroscope.inventory.drift.fact_table import FactTable
from necroscope.inventory.drift.host_sets import SICK_NAMES, Groups, sick_among
from necroscope.model.drift import Difference, Drift, FactByGroup, NotCompared
from necroscope.model.visible_text import visible_text

NOT_THERE = "(not there)"
LONGEST_VALUE = 500
MOST_LINES = 20
MOST_INCIDENTAL = 10
MOST_ALIKE, MOST_ALIKE_TO_ONE = 20, 10  # lines of what cannot be told apart, and facts in each
MOST_NAMES = 4


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
    body = {**drift_document(drift), "unread": read.unread}
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
        "not_compared": drift.not_compared,
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
        "because": difference.because,
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


def drift_text(screen: Screen, drift: Drift, unread: Sequence[Unread], show_all: bool) -> Iterator[str]:
    """The whole answer. The lines of differences are not wrapped, so that each is one line."""
    matter = [row for row in drift.differences if row.matters]
    incidental = [row for row in drift.differences if not row.matters and not row.explained_by]
    followers = [row for row in drift.differences if row.explained_by]
    shown = matter if show_all else matter[:MOST_LINES]
    if not matter:
        yield screen.paint(_nothing(drift), "good")
    for place, row in enumerate(shown):
        yield screen.paint(visible_text(row.summary), "warning") if not place else visible_text(row.summary)
    yield ""
    yield screen.wrap(_compared(drift, len(matter), len(shown)))
    if drift.note:
        yield screen.wrap(drift.note)
    why = ((str(place), _why(row)) for place, row in enumerate(shown, start=1))
    yield from screen.section("Why", [screen.table(why)])
    alike = list(_alike(drift.differences))
    yield from screen.section("Cannot be told apart", _at_most(alike, len(alike) if show_all else MOST_ALIKE))
    for head, rows in (("Only follow another", followers), ("Incidental", incidental)):
        lines = [f"{row.summary}{_doubt(row)}" for row in rows]
        yield from screen.section(head, _at_most(lines, len(rows) if show_all else MOST_INCIDENTAL))
    missing = [_missing(row) for row in drift.not_compared] + [(row.path, row.reason) for row in unread]
    yield from screen.section("Not compared", [screen.table(missing)])


def _at_most(lines: Sequence[str], most: int) -> Iterator[str]:
    yield from (f"  {visible_text(line)}" for line in lines[:most])
    if len(lines) > most:
        yield f"  and {len(lines) - most:,} more (--all)"


def _alike(rows: Sequence[Difference]) -> Iterator[str]:
    """What nobody can tell apart from what, each pair once, in the order of the differences."""
    told: set[frozenset[str]] = set()
    for row in rows:
        pairs = {fact: frozenset((row.lead.fact, fact)) for fact in row.cannot_tell_apart_from}
        if others := [fact for fact, pair in pairs.items() if pair not in told]:
            told.update(pairs.values())
            yield f"{row.lead.fact} from {_listed(others, MOST_ALIKE_TO_ONE)}"


def _nothing(drift: Drift) -> str:
    if not drift.differences:
        return "no difference"
    if drift.symptom is None:
        return "no difference that is known to matter"
    return f"no difference goes with the {drift.symptom} group"


def _compared(drift: Drift, matter: int, shown: int) -> str:
    if drift.symptom is None:
        who = f"Compared {_listed(list(drift.groups))}"
    else:
        others = [f"{name} ({len(hosts):,})" for name, hosts in drift.groups.items() if name != drift.symptom]
        hosts = _count(len(drift.groups[drift.symptom]), "host")
        who = f"Compared {drift.symptom} ({hosts}) with {_listed(others)}"
    left_out = f" ({shown} shown)" if shown < matter else ""
    incidental = len(drift.differences) - matter
    return (
        f"{who}: {_count(drift.facts, 'fact')}, {_count(matter, 'difference')} that "
        f"{'matters' if matter == 1 else 'matter'}{left_out}, {incidental:,} incidental"
    )


def _why(row: Difference) -> str:
    parts = [f"{row.lead.fact}: {row.why}"]
    if row.association and row.association.q is not None:
        low, high = row.association.interval
        parts.append(
            f"p {row.association.p:.2g}, q {row.association.q:.2g}, "
            f"odds ratio {row.association.odds_ratio:.1f} ({low:.1f} to {high:.1f})"
        )
    together = [fact.fact for fact in row.together]
    if together:
        parts.append(f"with {_listed(together)}")
    if others := [fact for fact in row.cannot_tell_apart_from if fact not in together]:
        parts.append(f"cannot be told apart from {_listed(others)}")
    if row.because and row.because.link:
        parts.append(f"{row.because.fact}: {row.because.link}")
    return "; ".join(parts)


def _doubt(row: Difference) -> str:
    return f" (follows {_listed(row.explained_by)})" if row.explained_by else ""


def _missing(row: NotCompared) -> tuple[str, str]:
    return row.section, f"{_listed(row.hosts)}: {row.reason}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
