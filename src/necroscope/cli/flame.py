"""The flame graph of any moment and any core, or its difference to quiet seconds or another moment.

necroscope flame --around 14:02 --cpu 5 -o reset.svg
necroscope flame --around 14:02 --against baseline
necroscope flame --around 14:02 --against 13:50..13:55
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer, note_damaged
from necroscope.cli.output_file import add_output, write_output
from necroscope.cli.screen import Screen
from necroscope.cli.selecting import add_selection, choose
from necroscope.cli.times import span
from necroscope.diagnosis.quiet_baseline.baseline import Baseline, named_baseline, quiet_baseline
from necroscope.diagnosis.quiet_baseline.flame_title import describe, flame_title
from necroscope.errors import NoSamplesError, UsageError
from necroscope.model.timestamp import iso_utc
from necroscope.profiles.export import FORMATS
from necroscope.profiles.export.title import Title
from necroscope.profiles.flame import Flame
from necroscope.profiles.skip_unreadable import skip_unreadable
from necroscope.profiles.window import Selection, Window, flame, require_samples, window
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.store import Damage, StoredSegment

SMALLEST_SHARE = 0.01  # of a node that the terminal shows
DEEPEST = 40
NO_QUIET_HINT = "--against T..T compares with any stretch; necroscope timeline shows what is recorded"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `flame` understands."""
    add_selection(parser)
    against = "a difference: to `baseline`, the quiet seconds around it, or to T..T"
    parser.add_argument("--against", metavar="baseline|T..T", help=against)
    parser.add_argument(
        "--by",
        choices=("comm", "process", "thread", "core", "whole"),
        default="comm",
        help="what stands at the root",
    )
    parser.add_argument("--inverted", action="store_true", help="innermost functions first: who calls them")
    parser.add_argument("--config", type=Path, help="a TOML file with thresholds, for what is quiet")
    add_output(parser, f"write a file instead: {', '.join(FORMATS)}")


def run(arguments: argparse.Namespace) -> Answer:
    """Count, merge, and draw or write."""
    segments, selection, damaged = choose(arguments)
    found, segments = skip_unreadable(
        lambda some: window(some, selection, arguments.by), segments, selection, damaged
    )
    require_samples(found, segments)
    baseline = _baseline(arguments, segments, selection, damaged)
    tree = flame(found, baseline.window if baseline else None, inverted=arguments.inverted)
    title = flame_title(describe(selection, segments[-1].host), found, baseline)
    document = _document(tree, found, title)
    against = _baseline_document(baseline) if baseline else None
    body = {**document, "against": against, "damaged": note_damaged(damaged)}
    if arguments.output:
        written = write_flame(arguments.output, tree, title, force=arguments.force)
        return Answer(0, {**body, "written": str(arguments.output)}, lambda _: written)
    return Answer(0, body, lambda screen: "\n".join(_text(screen, tree, title)))


def _baseline(
    arguments: argparse.Namespace,
    segments: list[StoredSegment],
    selection: Selection,
    damaged: list[Damage],
) -> Baseline | None:
    if not arguments.against:
        return None
    if arguments.against != "baseline":
        return _stretch_named(arguments, segments, selection, damaged)
    try:
        return quiet_baseline(segments, selection, load_thresholds(arguments.config), damaged, arguments.by)
    except NoSamplesError as error:
        raise NoSamplesError(error.what, hint=NO_QUIET_HINT) from error


def _stretch_named(
    arguments: argparse.Namespace,
    segments: list[StoredSegment],
    selection: Selection,
    damaged: list[Damage],
) -> Baseline:
    """The stretch `T..T`, with the same filters."""
    try:
        begin_ns, end_ns = (moment.utc_ns([segments[-1]]) for moment in span(arguments.against))
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--against: {error}") from error
    return named_baseline(segments, selection, (begin_ns, end_ns), damaged, arguments.by)


def _baseline_document(baseline: Baseline) -> dict[str, Any]:
    """What was compared with, for machines."""
    found = baseline.window
    ranges = [{"begin": iso_utc(one.begin_ns), "end": iso_utc(one.end_ns)} for one in found.selections]
    return {
        "text": baseline.text,
        "seconds": round(found.seconds, 3),
        "samples": found.samples,
        "idle": found.idle,
        "ranges": ranges,
    }


def write_flame(path: Path, tree: Flame, title: Title, *, force: bool) -> str:
    """Write a graph in the format that the name of the file means, and say so."""
    suffix = next((suffix for suffix in FORMATS if path.name.endswith(suffix)), None)
    if suffix is None:
        raise UsageError(f"{path}: no such format", hint=f"the name must end in one of: {', '.join(FORMATS)}")
    write_output(path, FORMATS[suffix](tree, title), force=force)
    return f"{path}: {title.text}; {'; '.join(title.notes)}"


def _document(tree: Flame, found: Window, title: Title) -> dict[str, Any]:
    totals = {"samples": found.samples, "idle": found.idle, "unknown": found.unknown, "lost": found.lost}
    return {"title": title.text, "notes": title.notes, **totals, "tree": tree_document(tree)}


def tree_document(tree: Flame) -> dict[str, Any]:
    """A graph in JSON."""
    nodes = {
        "parent": tree.parent,
        "label": tree.label,
        "total": tree.window.total,
        "own": tree.window.own,
        "labels": [{"name": label.name, "kind": label.kind, "module": label.module} for label in tree.labels],
    }
    if tree.baseline:
        nodes |= {"baseline_total": tree.baseline.total, "baseline_own": tree.baseline.own}
    return nodes


def _text(screen: Screen, tree: Flame, title: Title) -> Iterator[str]:
    yield screen.paint(screen.wrap(title.text), "bold")
    yield screen.wrap("; ".join(title.notes))
    yield from map(screen.line, tree_lines(tree))
    yield screen.wrap(f"functions with less than {SMALLEST_SHARE:.0%} are left out; -o FILE has them all")


def tree_lines(tree: Flame, smallest: float = SMALLEST_SHARE) -> Iterator[str]:
    """The functions that have a share or a change worth seeing, each below its caller."""
    depths = tree.depths()
    for node in range(1, len(tree.parent)):
        shown = max(tree.share(node), abs(tree.change(node)))
        if shown >= smallest and depths[node] <= DEEPEST:
            change = f" {tree.change(node):>+7.1%}" if tree.baseline else ""
            yield f"{tree.share(node):>6.1%}{change} {' ' * (depths[node] - 1)}{tree.name(node)}"
