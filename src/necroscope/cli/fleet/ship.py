"""Send what this host has recorded to the fleet's place, once. The recorder does it by itself.

necroscope fleet ship --fleet s3://bucket/fleet
necroscope fleet ship --fleet /mnt/fleet --profiles all --json

What cannot be sent waits in a spool beside the recordings. See docs/shipping.md.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import TYPE_CHECKING, Any

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_root, add_store, argument, duration
from necroscope.cli.fleet.asking import add_place
from necroscope.cli.screen import Screen, note
from necroscope.errors import NecroscopeError, UsageError
from necroscope.store.config import PROFILES, FleetSettings, load_fleet_settings, parse_spool

if TYPE_CHECKING:
    from necroscope.fleet.ship.run import Shipped
    from necroscope.fleet.ship.stage import Wish

NICENESS = 10  # whatever runs on the node comes first
LONGEST_SECONDS = 7 * 86400.0
EXIT_CODES = """exit codes:
  0    all has arrived
  2    usage, the spool cannot be written, or our own fault
  3    the place is away or refuses us: what waits is kept and sent later; or nothing is recorded
  130  interrupted"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet ship` understands."""
    parser.epilog = EXIT_CODES
    add_place(parser)
    add_store(parser)
    parser.add_argument("--host", metavar="NAME", help="whose recordings (default: this host's)")
    parser.add_argument(
        "--profiles",
        choices=PROFILES,
        help="which segments to send whole, with samples (default events: around those worth keeping)",
    )
    parser.add_argument(
        "--counters", action="store_true", default=None, help="send the counters of all segments as well"
    )
    parser.add_argument("--spool", type=argument(parse_spool), help="how much may wait (default 256MiB)")
    parser.add_argument(
        "--seconds", type=duration, default=LONGEST_SECONDS, help="begin nothing anew after so long"
    )
    add_root(parser, "the host's root: /host in a container")


def run(arguments: argparse.Namespace) -> Answer:
    """Stage and send."""
    from necroscope.fleet.packages import needs_packages
    from necroscope.fleet.place.place import open_place
    from necroscope.fleet.ship.run import ship

    os.nice(NICENESS)
    said = {"place": arguments.fleet, "profiles": arguments.profiles}
    said |= {"counters": arguments.counters, "spool": arguments.spool}
    settings = load_fleet_settings(arguments.config, said)
    if not settings.place:
        raise UsageError("which fleet?", hint="--fleet PLACE, or [fleet] place in the configuration")
    with needs_packages():
        shipped = ship(_wish(arguments, settings), open_place(settings.place), arguments.seconds)
    if shipped.error and not getattr(arguments, "json", False):
        note(f"{shipped.error.what}\n  {shipped.error.hint}")
    code = shipped.error.exit_code if shipped.error else 0
    return Answer(code, _document(shipped), lambda screen: _text(screen, shipped))


def _wish(arguments: argparse.Namespace, settings: FleetSettings) -> Wish:
    from necroscope.fleet.ship.stage import Wish
    from necroscope.signals.thresholds import load_thresholds
    from necroscope.sources.host import Host
    from necroscope.store.store import Store, safe_name
    from necroscope.store.store_place import host_name

    host = Host(arguments.root)
    own = host_name(host)
    recorded = arguments.host or own
    name = safe_name(recorded if arguments.host else settings.name or own) or "unknown"
    return Wish(
        folder=Store(arguments.store).host_folder(recorded),
        name=name,
        profiles=settings.profiles,
        counters=settings.counters,
        spool_bytes=settings.spool_bytes,
        thresholds=load_thresholds(arguments.config),
        facts_of=host if safe_name(recorded) == safe_name(own) else None,
    )


def _document(shipped: Shipped) -> dict[str, Any]:
    return {
        "ok": shipped.error is None,
        "staged": shipped.staged,
        "sent": shipped.sent,
        "blobs": shipped.blobs,
        "bytes": shipped.bytes,
        "waiting": shipped.waiting,
        "waiting_bytes": shipped.waiting_bytes,
        "given_up": list(shipped.given_up),
        "given_up_total": shipped.given_up_total,
        "last_success_us": shipped.success_us or None,
        "is_more": shipped.is_more,
        "problems": [_problem(one) for one in shipped.problems],
        "cpu_seconds": round(time.process_time(), 3),
        "error": _problem(shipped.error) if shipped.error else None,
    }


def _problem(error: NecroscopeError) -> dict[str, str]:
    return {"slug": error.slug, "what": error.what, "hint": error.hint}


def _text(screen: Screen, shipped: Shipped) -> str:
    lines = [f"{_parts(shipped.sent)} sent, {shipped.blobs} files, {shipped.bytes:,} bytes in all"]
    if shipped.waiting:
        lines.append(f"{_parts(shipped.waiting)} waiting, {shipped.waiting_bytes:,} bytes")
    if shipped.given_up:
        lines.append(f"{_parts(len(shipped.given_up))} given up: the spool is full")
    if shipped.is_more:
        lines.append("there was no time for all: the next run goes on")
    lines += [f"not sent: {one.what}" for one in shipped.problems]
    return "\n".join(screen.wrap(line) for line in lines)


def _parts(count: int) -> str:
    return "1 part" if count == 1 else f"{count} parts"
