"""A flame graph as a file for another program, or as a page that needs no server."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace

from necroscope import __version__
from necroscope.model.timestamp import SECOND_US, compact_utc
from necroscope.profiles.export import FORMATS
from necroscope.profiles.pruned_tree import flame_of
from necroscope.server.one_file import answer_key
from necroscope.server.one_file.collected import Collected, collect_overview, collect_samples
from necroscope.server.one_file.event_seconds import EventSeconds, fine_around, minute_around
from necroscope.server.one_file.page_file import About, moment_address, page_file
from necroscope.server.questions.flame import ask_flame
from necroscope.server.questions.flame_query import count_stacks
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.selection import LONGEST_SECONDS, Filters, Format, Range, Tree

MOST_NODES = 300_000  # of which these formats make text
LONGEST_HOST = 80
MEDIA_TYPES: dict[Format, str] = {
    "svg": "image/svg+xml",
    "folded": "text/plain; charset=utf-8",
    "speedscope.json": "application/json",
    "pb.gz": "application/octet-stream",
    "html": "text/html; charset=utf-8",
}
MOST_PAGE_NODES = 400_000
LEFT_OUT = "other seconds and other choices of samples than the one that was saved"


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """What is saved, under a name that every file system takes: letters, digits, `.`, `_` and `-`."""

    name: str
    media_type: str
    content: bytes


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


def moment_page(store: RecordedStore, chosen: Range, filters: Filters, tree: Tree) -> bytes:
    """Return the graph with the minute around it as one HTML file. NoSamplesError: there is nothing."""
    collected = Collected()
    around = fine_around(chosen)
    seconds = EventSeconds(chosen, (_minute(chosen),), around, filters)
    # Asked for outside of `collected`, so that a question without an answer is an error and no file.
    flame = ask_flame(store, chosen, filters, tree, MOST_PAGE_NODES)
    collected.ask(answer_key.flame_key(chosen, filters, tree), lambda: flame)
    collect_overview(collected, store, around)
    collect_samples(collected, store, seconds, tree)
    collected.left_out.append(LEFT_OUT)
    start = moment_address(seconds.shown[0], chosen, filters, tree)
    return page_file(collected, About(around, start, time.time_ns() // 1000, __version__)).content


def _minute(chosen: Range) -> Range:
    """The minute around it, or where it is longer, itself in whole seconds."""
    minute = minute_around(chosen.host, chosen.end_us)
    begin_us = min(minute.begin_us, chosen.begin_us // SECOND_US * SECOND_US)
    return replace(minute, begin_us=max(begin_us, minute.end_us - LONGEST_SECONDS * SECOND_US))
