"""The subsecond-offset heatmap in the terminal: one column a second, one row a fraction of it.

necroscope scope                        the newest recording
necroscope scope --around 14:02 --cpu 5
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from necroscope.cli.answer import Answer, note_damaged
from necroscope.cli.screen import Screen
from necroscope.cli.selecting import add_selection, choose
from necroscope.diagnosis.quiet_baseline.flame_title import describe
from necroscope.model.timestamp import SECOND_NS, iso_utc
from necroscope.profiles.scope import Scope, scope
from necroscope.profiles.skip_unreadable import skip_unreadable
from necroscope.profiles.window import require_samples, window

SHADES = " .:-=+*#%@"
MARGIN = 9  # for the fraction of the second at the left


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `scope` understands."""
    add_selection(parser)
    parser.add_argument(
        "--rows", type=int, default=20, choices=(10, 20, 25, 50, 100), help="rows a second (default 20)"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """Bin the samples and draw them."""
    segments, selection, damaged = choose(arguments)
    found, segments = skip_unreadable(
        lambda some: window(some, selection, "whole"), segments, selection, damaged
    )
    require_samples(found, segments)
    heatmap = scope(segments, selection, arguments.rows)
    cells = memoryview(heatmap.counts).cast("H")
    body = {
        "begin": iso_utc(heatmap.begin_ns),
        "columns": heatmap.columns,
        "rows": heatmap.rows,
        "cells": list(cells),
        "samples": found.samples,
        "idle": found.idle,
        "unknown": found.unknown,
        "lost": found.lost,
        "damaged": note_damaged(damaged),
    }
    title = describe(selection, segments[-1].host)
    return Answer(0, body, lambda screen: _text(screen, heatmap, cells, title, found.notes))


def _text(screen: Screen, heatmap: Scope, cells: Sequence[int], title: str, notes: tuple[str, ...]) -> str:
    width = max(screen.width - MARGIN, 10)
    blocks = [
        _block(heatmap, cells, first, min(first + width, heatmap.columns))
        for first in range(0, heatmap.columns, width)
    ]
    samples = "1 sample" if heatmap.most == 1 else f"{heatmap.most:,} samples"
    legend = f"darkest: {samples} in {1000 / heatmap.rows:g} ms; {'; '.join(notes)}"
    return "\n\n".join([screen.paint(screen.wrap(title), "bold"), *blocks, screen.wrap(legend)])


def _block(heatmap: Scope, cells: Sequence[int], first: int, last: int) -> str:
    lines = []
    for row in reversed(range(heatmap.rows)):
        counts = (cells[column * heatmap.rows + row] for column in range(first, last))
        shades = "".join(_shade(count, heatmap.most) for count in counts)
        label = f"{row * 1000 // heatmap.rows:>4} ms |" if row % 5 == 0 else f"{'|':>9}"
        lines.append(f"{label}{shades}".rstrip())
    begin = iso_utc(heatmap.begin_ns + first * SECOND_NS)
    return "\n".join([*lines, f"{'+':>9}{'-' * (last - first)}", f"{'':>9}{begin}, {last - first} s"])


def _shade(count: int, most: int) -> str:
    if not count:
        return SHADES[0]
    return SHADES[1 + (count - 1) * (len(SHADES) - 1) // max(most, 1)]
