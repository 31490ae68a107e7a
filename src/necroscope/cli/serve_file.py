"""`serve -o FILE`: the page of a recorded range in one HTML file, to attach to a ticket."""

from __future__ import annotations

import argparse

from necroscope.cli.answer import Answer
from necroscope.cli.output_file import add_output, refuse_existing, write_output
from necroscope.cli.selecting import Chosen, add_range, choose_range

LONGEST_NS = 12 * 3600 * 10**9  # without -b


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words of `serve` for a file."""
    add_range(parser)
    add_output(parser, "write the page of a range into one HTML file instead (without -b: the last 12 hours)")


def run(arguments: argparse.Namespace) -> Answer:
    """Gather the answers, and write them with the page."""
    from necroscope.server.one_file.range_page import range_page
    from necroscope.server.range_and_filters import US_NS, Range
    from necroscope.server.recorded_store import RecordedStore

    refuse_existing(arguments)
    chosen = choose_range(arguments)
    begin_ns = chosen.time.begin_ns if arguments.begin else _begin_ns(chosen)
    span = Range(chosen.host, begin_ns // US_NS, -(-chosen.time.end_ns // US_NS))
    page = range_page(RecordedStore(arguments.store), span)
    write_output(arguments.output, page.content, force=arguments.force)
    body = {
        "written": str(arguments.output),
        "bytes": len(page.content),
        "host": span.host,
        "left_out": page.left_out,
    }
    text = f"{arguments.output}: {span.host}, {span.words}, {len(page.content) / 1e6:.1f} MB"
    return Answer(0, body, lambda screen: screen.wrap(text))


def _begin_ns(chosen: Chosen) -> int:
    """The last twelve hours there are."""
    return max(chosen.time.end_ns - LONGEST_NS, min(segment.begin_ns for segment in chosen.segments))
