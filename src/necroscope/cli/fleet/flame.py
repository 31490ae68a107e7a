"""What ran in the seconds before events across the fleet, as one flame graph.

necroscope fleet flame -b 7d -o resets.svg          the 5 s before all NIC resets of a week
necroscope fleet flame --kind soft-lockup --window 10s --every-core

The samples are those that hosts have shipped around their events. Of an event whose core is known, only that
core is looked at, unless every core is asked for. A second of a host counts once, whatever its events.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from necroscope.cli.answer import Answer
from necroscope.cli.flame import tree_document, tree_lines, write_flame
from necroscope.cli.fleet.asking import add_question, asked_fleet
from necroscope.cli.fleet.culprit import add_events
from necroscope.cli.fleet.documents import document_of
from necroscope.cli.output_file import add_output, refuse_existing
from necroscope.cli.screen import Screen
from necroscope.errors import NoSamplesError
from necroscope.model.timestamp import iso_utc
from necroscope.profiles.export import FORMATS
from necroscope.profiles.export.title import Title
from necroscope.profiles.flame import Flame
from necroscope.profiles.window import flame

if TYPE_CHECKING:
    from necroscope.model.fleet.fleet_flame import FleetFlame


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet flame` understands."""
    add_question(parser)
    add_events(parser, 1000)
    parser.add_argument("--by", choices=("comm", "whole"), default="comm", help="what stands at the root")
    parser.add_argument("--every-core", action="store_true", help="also where the core of an event is known")
    parser.add_argument("--idle", action="store_true", help="count samples of idle cores as well")
    parser.add_argument("--inverted", action="store_true", help="innermost functions first: who calls them")
    add_output(parser, f"write a file instead: {', '.join(FORMATS)}")


def run(arguments: argparse.Namespace) -> Answer:
    """Bring, merge, and draw or write."""
    refuse_existing(arguments)
    with asked_fleet(arguments) as fleet:
        from necroscope.fleet.questions.flame import FlameWish, ask_flame

        wish = FlameWish(arguments.window, arguments.most, arguments.by, arguments.every_core, arguments.idle)
        found, trees = ask_flame(fleet.tables, fleet.engine, fleet.kinds, fleet.span_us, wish)
    if not trees.samples:
        raise NoSamplesError(f"no samples: {found.note or 'none in these seconds'}", hint=_hint(found))
    tree = flame(trees.window(found.seconds), inverted=arguments.inverted)
    title = _title(found, arguments)
    body: dict[str, Any] = {**document_of(found), "title": title.text, "tree": tree_document(tree)}
    if arguments.output:
        written = write_flame(arguments.output, tree, title, force=arguments.force)
        return Answer(0, {**body, "written": str(arguments.output)}, lambda _: written)
    return Answer(0, body, lambda screen: "\n".join(_text(screen, tree, title)))


def _title(found: FleetFlame, arguments: argparse.Namespace) -> Title:
    kinds = ", ".join(found.kinds)
    span = f"{iso_utc(found.begin_us * 1000)} to {iso_utc(found.end_us * 1000)}"
    text = f"{arguments.window:g} s before {found.merged:,} events ({kinds}) of {found.hosts:,} hosts, {span}"
    notes = (
        f"{found.samples:,} samples in {found.seconds:,.0f} s",
        f"{found.idle:,} of idle cores {'counted' if arguments.idle else 'left out'}",
        f"{found.unknown:,} whose innermost function has no name",
        *([found.note] if found.note else []),
    )
    return Title(text, notes=notes)


def _hint(found: FleetFlame) -> str:
    if found.not_merged:
        return found.not_merged[0].why
    return (
        "-b T begins earlier; --idle counts samples of idle cores" if not found.idle else "--idle counts them"
    )


def _text(screen: Screen, tree: Flame, title: Title) -> Iterator[str]:
    yield screen.paint(screen.wrap(title.text), "bold")
    yield screen.wrap("; ".join(title.notes))
    yield from map(screen.line, tree_lines(tree))
    yield screen.wrap("functions with a small share are left out; -o FILE has them all")
