"""Make open segments columnar now. The recorder does it by itself; this is for what a dead one left.

necroscope seal                     all that is open in the store
necroscope seal /var/lib/necroscope/node7/20260415T100000Z
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_store, argument, duration, folder
from necroscope.profiles.import_ import seal_capture
from necroscope.recording.quantities import parse_size
from necroscope.recording.retention import Budget, make_room
from necroscope.recording.seal import seal_recorded
from necroscope.recording.store import Store, read_segment

NICENESS = 10  # whatever runs on the node comes first


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `seal` understands."""
    add_store(parser)
    parser.add_argument("folders", nargs="*", type=folder, metavar="FOLDER", help="segments (default: all)")
    parser.add_argument("--keep-perf-data", action="store_true", help="keep what perf wrote beside it")
    size = argument(parse_size)
    parser.add_argument("--budget", type=size, help="remove the oldest segments beyond this size")
    parser.add_argument("--kept-budget", type=size, help="of it for segments with events (default a quarter)")
    parser.add_argument("--age", type=duration, help="and those older than this (default 7d)")


def run(arguments: argparse.Namespace) -> Answer:
    """Make room where that is wanted, and seal."""
    os.nice(NICENESS)
    folders: list[Path] = arguments.folders or [
        segment.folder for segment in Store(arguments.store).segments() if segment.is_open
    ]
    room = _make_room(arguments, folders)  # first: sealing on a full disk would fail
    sealed = []
    for path in folders:
        segment = read_segment(path)
        if segment.is_open:
            seal_recorded(segment, seal_capture, keep_capture=arguments.keep_perf_data)
            sealed.append(str(path))
    body = {"sealed": sealed, **room, "cpu_seconds": round(time.process_time(), 3)}
    text = "\n".join(f"sealed {path}" for path in sealed) or "nothing is open"
    return Answer(0, body, lambda _: text)


def _make_room(arguments: argparse.Namespace, folders: list[Path]) -> dict[str, int]:
    if arguments.budget is None or not folders:
        return {}
    kept = arguments.budget // 4 if arguments.kept_budget is None else arguments.kept_budget
    age = Budget().age_seconds if arguments.age is None else arguments.age
    left = make_room(folders[0].parent, Budget(arguments.budget, kept, age), time.time_ns())
    return {"store_bytes": sum(entry.size_bytes for entry in left)}
