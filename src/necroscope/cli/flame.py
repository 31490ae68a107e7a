"""The flame graph of any moment and any core, or its difference to another.

necroscope flame --around 14:02 --cpu 5 -o reset.svg
necroscope flame --around 14:02 --against baseline
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.damaged import spare, tell_damaged
from necroscope.cli.screen import Screen
from necroscope.cli.selecting import add_selection, choose, describe
from necroscope.cli.times import span
from necroscope.errors import UsageError
from necroscope.profiles.export import FORMATS
from necroscope.profiles.export.title import Title
from necroscope.profiles.flame import Flame
from necroscope.profiles.window import Selection, Window, flame, require_samples, rest_of, window
from necroscope.recording.store import Damage, StoredSegment

SMALLEST_SHARE = 0.01  # of a node that the terminal shows
DEEPEST = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `flame` understands."""
    add_selection(parser)
    against = "a difference: to `baseline`, the rest of the recording, or to T..T"
    parser.add_argument("--against", metavar="baseline|T..T", help=against)
    parser.add_argument(
        "--by",
        choices=("comm", "process", "thread", "core", "whole"),
        default="comm",
        help="what stands at the root",
    )
    parser.add_argument("--inverted", action="store_true", help="innermost functions first: who calls them")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help=f"write a file instead: {', '.join(FORMATS)}"
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite the file")


def run(arguments: argparse.Namespace) -> Answer:
    """Count, merge, and draw or write."""
    segments, selection, damaged = choose(arguments)
    found, segments = spare(lambda some: window(some, selection, arguments.by), segments, selection, damaged)
    require_samples(found, segments)
    baseline, against = _baseline(arguments, segments, selection, damaged)
    tree = flame(found, baseline, inverted=arguments.inverted)
    notes = (*found.notes, *([f"red: more here than in {against}"] if baseline else []))
    title = Title(describe(selection, segments[-1].host), notes=notes)
    document = _document(tree, found, title)
    body = {**document, "against": against or None, "damaged": tell_damaged(damaged)}
    if arguments.output:
        written = _write(arguments.output, tree, title, force=arguments.force)
        return Answer(0, {**body, "written": str(arguments.output)}, lambda _: written)
    return Answer(0, body, lambda screen: "\n".join(_text(screen, tree, title)))


def _baseline(
    arguments: argparse.Namespace,
    segments: list[StoredSegment],
    selection: Selection,
    damaged: list[Damage],
) -> tuple[Window | None, str]:
    if not arguments.against:
        return None, ""
    if arguments.against == "baseline":
        other, _ = spare(lambda some: rest_of(some, selection, arguments.by), segments, selection, damaged)
        name = "the rest of the recording"
    else:
        try:
            begin, end = (m.utc_ns([segments[-1]]) for m in span(arguments.against))
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"--against: {error}") from error
        part = Selection(
            begin,
            end,
            selection.cpus,
            selection.processes,
            selection.threads,
            selection.events,
            selection.idle,
        )
        other, _ = spare(lambda some: window(some, part, arguments.by), segments, part, damaged)
        name = describe(part, segments[-1].host)
    return require_samples(other, segments), name


def _write(path: Path, tree: Flame, title: Title, *, force: bool) -> str:
    suffix = next((suffix for suffix in FORMATS if path.name.endswith(suffix)), None)
    if suffix is None:
        raise UsageError(f"{path}: no such format", hint=f"the name must end in one of: {', '.join(FORMATS)}")
    try:
        with path.open("wb" if force else "xb") as file:
            file.write(FORMATS[suffix](tree, title))
    except FileExistsError as error:
        raise UsageError(f"{path} exists", hint="-f overwrites it") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    return f"{path}: {title.text}; {'; '.join(title.notes)}"


def _document(tree: Flame, found: Window, title: Title) -> dict[str, Any]:
    nodes = {
        "parent": tree.parent,
        "label": tree.label,
        "total": tree.window.total,
        "own": tree.window.own,
        "labels": [{"name": label.name, "kind": label.kind, "module": label.module} for label in tree.labels],
    }
    if tree.baseline:
        nodes |= {"baseline_total": tree.baseline.total, "baseline_own": tree.baseline.own}
    totals = {"samples": found.samples, "idle": found.idle, "unknown": found.unknown, "lost": found.lost}
    return {"title": title.text, "notes": title.notes, **totals, "tree": nodes}


def _text(screen: Screen, tree: Flame, title: Title) -> Iterator[str]:
    yield screen.paint(screen.wrap(title.text), "bold")
    yield screen.wrap("; ".join(title.notes))
    depths = tree.depths()
    for node in range(1, len(tree.parent)):
        shown = max(tree.share(node), abs(tree.change(node)))
        if shown >= SMALLEST_SHARE and depths[node] <= DEEPEST:
            change = f" {tree.change(node):>+7.1%}" if tree.baseline else ""
            line = f"{tree.share(node):>6.1%}{change} {' ' * (depths[node] - 1)}{tree.name(node)}"
            yield screen.line(line)
    yield screen.wrap(f"functions with less than {SMALLEST_SHARE:.0%} are left out; -o FILE has them all")
