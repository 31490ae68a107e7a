"""Make open segments columnar now. The recorder does it by itself; this is for what a dead one left.

necroscope seal                     all that is open in the store
necroscope seal /var/lib/necroscope/node7/20260415T100000Z
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_root, add_store, argument, duration, folder
from necroscope.errors import ImportFileError, NecroscopeError
from necroscope.model.quantities import parse_size
from necroscope.store.gc_paused import no_garbage
from necroscope.store.retention import Budget, make_room
from necroscope.store.seal import NAMES, SealProfile, seal_recorded
from necroscope.store.store import Damage, Store, read_segment
from necroscope.store.store_place import default_store
from necroscope.store.trusted_folder import refuse_untrusted

NICENESS = 10  # whatever runs on the node comes first


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `seal` understands."""
    add_store(parser, needed=False)
    parser.add_argument("folders", nargs="*", type=folder, metavar="FOLDER", help="segments (default: all)")
    parser.add_argument("--keep-perf-data", action="store_true", help="keep what perf wrote beside it")
    add_root(parser, "where the programs are that were recorded: /host in a container")
    size = argument(parse_size)
    parser.add_argument("--budget", type=size, help="remove the oldest segments beyond this size")
    parser.add_argument("--kept-budget", type=size, help="of it for segments with events (default a quarter)")
    parser.add_argument("--age", type=duration, help="and those older than this (default 7d)")
    parser.add_argument(
        "--names",
        choices=NAMES,
        default="all",
        help="of functions in samples: all, those of the kernel only, or none and no samples (default all)",
    )
    parser.add_argument("--max-time", type=duration, help="end after this time, whatever is done")


@no_garbage()
def run(arguments: argparse.Namespace) -> Answer:
    """Make room where that is wanted, and seal; one that cannot be sealed does not hold up the others."""
    os.nice(NICENESS)
    if arguments.max_time:
        signal.setitimer(signal.ITIMER_REAL, arguments.max_time)  # nobody catches SIGALRM, so it ends us
    folders, refused = _open_segments(arguments)
    room = _make_room(arguments, folders)  # first: sealing on a full disk would fail
    became: dict[str, list[str]] = {"sealed": [], "removed": []}
    seal_profile, incomplete = _seal_profile(arguments), 0
    for path in folders:
        try:
            refuse_untrusted(path)
            segment = read_segment(path)
            if segment.is_open:
                has_samples = segment.capture.exists()
                word = seal_recorded(segment, seal_profile, keep_capture=arguments.keep_perf_data)
                became[word].append(str(path))
                incomplete += word == "sealed" and has_samples and arguments.names != "all"
        except NecroscopeError as error:
            if len(arguments.folders) == 1:
                raise
            refused.append(Damage(path, error))
    problems = [{"folder": str(one.folder), "what": one.error.what} for one in refused]
    numbers = {"incomplete": incomplete, "cpu_seconds": round(time.process_time(), 3)}
    body = {**became, "refused": problems, **room, **numbers}
    nothing = "nothing could be sealed" if refused else "nothing is open"
    lines = [f"{word} {path}" for word, paths in became.items() for path in paths] or [nothing]
    lines += [f"refused: {one.error.what}" for one in refused]
    return Answer(2 if arguments.folders and refused else 0, body, lambda _: "\n".join(lines))


def _seal_profile(arguments: argparse.Namespace) -> SealProfile:
    root = arguments.root if arguments.names == "all" else None

    def seal_profile(
        capture: Path, folder: Path, boot_id: str, begin_ns: int | None, end_ns: int | None
    ) -> Mapping[str, Any]:
        # Imported here: a segment without samples does without.
        from necroscope.profiles.import_ import seal_capture

        return seal_capture(capture, folder, boot_id, begin_ns, end_ns, root)

    return _left_unread if arguments.names == "none" else seal_profile


def _left_unread(capture: Path, *_: object) -> Mapping[str, Any]:
    """A capture that ended those who read it; its file is kept."""
    raise ImportFileError(f"{capture}: not read, because sealing with it failed")


def _open_segments(arguments: argparse.Namespace) -> tuple[list[Path], list[Damage]]:
    """Those that were named, or all that are open; and those of which nobody knows whether they are."""
    if arguments.folders:
        return arguments.folders, []
    store = Store(arguments.store or default_store())
    return [segment.folder for segment in store.segments() if segment.is_open], store.damaged


def _make_room(arguments: argparse.Namespace, folders: list[Path]) -> dict[str, int]:
    if arguments.budget is None or not folders:
        return {}
    kept = arguments.budget // 4 if arguments.kept_budget is None else arguments.kept_budget
    age = Budget().age_seconds if arguments.age is None else arguments.age
    budget = Budget(arguments.budget, kept, age)
    hosts = sorted({folder.resolve().parent for folder in folders})
    for host in hosts:
        refuse_untrusted(host)
    left = [entry for host in hosts for entry in make_room(host, budget, time.time_ns())]
    return {"store_bytes": sum(entry.size_bytes + entry.unread_bytes for entry in left)}
