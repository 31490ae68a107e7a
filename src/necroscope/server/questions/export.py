"""A flame graph as a file for another program, or as a page that needs no server."""

from __future__ import annotations

import re

from necroscope.model.timestamp import compact_utc
from necroscope.profiles.export import FORMATS
from necroscope.profiles.pruned_tree import flame_of
from necroscope.server.answers.export import ExportedFile
from necroscope.server.counted_stacks import count_stacks
from necroscope.server.one_file.moment_page import moment_page
from necroscope.server.range_and_filters import Filters, Format, Range, Tree
from necroscope.server.recorded_store import RecordedStore

MOST_NODES = 300_000  # of which these formats make text
LONGEST_HOST = 80
MEDIA_TYPES: dict[Format, str] = {
    "svg": "image/svg+xml",
    "folded": "text/plain; charset=utf-8",
    "speedscope.json": "application/json",
    "pb.gz": "application/octet-stream",
    "html": "text/html; charset=utf-8",
}


def ask_export(
    store: RecordedStore, span: Range, filters: Filters, tree: Tree, format: Format
) -> ExportedFile:
    """The same samples as `ask_flame`, in one of the formats of `necroscope flame -o`, or `html`."""
    if format == "html":
        content = moment_page(store, span, filters, tree)
    else:
        stacks = count_stacks(store, span, filters, tree).at_most(MOST_NODES)
        flame = flame_of(stacks.tree, stacks.seconds, stacks.baseline_seconds)
        content = FORMATS[f".{format}"](flame, stacks.title)
    return ExportedFile(file_name(span, filters, tree, format), MEDIA_TYPES[format], content)


def file_name(span: Range, filters: Filters, tree: Tree, format: Format) -> str:
    """`web-1-20260415T100206Z-5s-core-37-difference.svg`: of letters, digits, `.`, `_` and `-` alone."""
    cores = "-".join(map(str, filters.cpus[:4]))
    parts = [
        span.host[:LONGEST_HOST],
        compact_utc(span.time.begin_ns),
        f"{span.seconds:.3g}s",
        *([f"core-{cores}"] if cores else []),
        *(["difference"] if tree.against else []),
    ]
    plain = re.sub(r"[^A-Za-z0-9.-]+", "_", "-".join(parts)).strip(".-_")
    return f"{plain}.{format}"
