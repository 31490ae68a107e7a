"""What hosts have shipped, into tables: every hour of a table one Parquet file, named by one index.

necroscope fleet ingest --fleet s3://bucket/fleet --keep 90d
necroscope fleet ingest --fleet /srv/fleet --every 10m

It may be killed at any moment and run anywhere: nothing is lost and nothing is counted twice. A second one
waits for the first. What is damaged stays where it is and is told as rejected.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import duration
from necroscope.cli.fleet.asking import add_place, place_address
from necroscope.cli.screen import Screen, note
from necroscope.cli.watching import stopping
from necroscope.errors import PlaceError, StoreError
from necroscope.fleet.packages import needs_packages
from necroscope.model.fleet.ingested import Ingested

SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet ingest` understands."""
    add_place(parser)
    parser.add_argument("--every", type=_pause, metavar="TIME", help="again and again, until it is stopped")
    parser.add_argument(
        "--keep", type=_keep, metavar="TIME", help="hours older than this are dropped (default: none is)"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """Once, or until it is stopped; the answer is that of the last round."""
    with needs_packages():
        from necroscope.fleet.place.place import open_place
        from necroscope.fleet.tables.ingest import ingest

        place = open_place(place_address(arguments))
        keep_us = None if arguments.keep is None else int(arguments.keep * 1e6)
        if arguments.every is None:
            done = ingest(place, keep_us)
        else:
            done = _again(lambda: ingest(place, keep_us, wait_seconds=0), arguments.every)
    return Answer(0, ingested_document(done), lambda screen: _text(screen, done))


def ingested_document(done: Ingested) -> dict[str, Any]:
    """The answer for a program."""
    return {**asdict(done), "removed": asdict(done.removed)}


def _again(work: Callable[[], Ingested], every_seconds: float) -> Ingested:
    """Rounds until somebody stops them. A place that is away is asked again, and that is told once."""
    done, told = Ingested(), ""
    with stopping() as stop:
        while True:
            began = time.monotonic()
            try:
                done, told = work(), ""
                if done.parts or done.rejected:
                    note(_line(done))
            except (PlaceError, StoreError) as error:  # nothing is lost by waiting
                if error.what != told:
                    note(f"{error.what}; tried again every {every_seconds:g} s")
                told = error.what
            if stop.wait(max(began + every_seconds - time.monotonic(), 0)):
                return done


def _line(done: Ingested) -> str:
    added = ", ".join(f"{rows} {table}" for table, rows in sorted(done.added.items())) or "nothing new"
    rejected = f", {len(done.rejected)} rejected" if done.rejected else ""
    return f"{done.parts} parts in {done.seconds:.1f} s: {added}{rejected}"


def _text(screen: Screen, done: Ingested) -> str:
    removed = done.removed
    lines = [screen.paint(screen.wrap(_line(done)), "bold")]
    if done.made_anew:
        lines.append(screen.wrap("index.json was damaged or missing, and was made anew from the tables"))
    if removed.hours or removed.files:
        what = f"{removed.hours} old hours dropped, {removed.files} files and {removed.blobs} blobs removed"
        lines.append(screen.wrap(what))
    if done.odd_times:
        hosts = ", ".join(sorted(done.odd_times)[:SHOWN])
        what = (
            f"{sum(done.odd_times.values())} segments of {len(done.odd_times)} hosts whose clock is in doubt"
        )
        lines.append(screen.wrap(f"{what}: {hosts}"))
    for name, why in sorted(done.rejected.items())[:SHOWN]:
        lines.append(screen.wrap(f"rejected: {name}: {why}", hanging=2))
    if len(done.rejected) > SHOWN:
        lines.append(screen.wrap(f"and {len(done.rejected) - SHOWN} more; --json has them all"))
    return "\n".join(lines)


def _pause(text: str) -> float:
    seconds: float = duration(text)
    if seconds < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is less than a second")
    return seconds


def _keep(text: str) -> float:
    seconds: float = duration(text)
    if seconds < 86400:
        raise argparse.ArgumentTypeError(
            f"'{text}' is less than a day, and would drop what is being asked for"
        )
    return seconds
