"""Ask a host for the samples of a range of time; it sends them when it ships next.

necroscope fleet request node-17 -b 10:00 -e 10:10 --fleet s3://bucket/fleet
necroscope fleet request node-17 -b 2h -e 1h

The host sends what it still has, whole segments, and takes the request away.
"""

from __future__ import annotations

import argparse

from necroscope.cli.answer import Answer
from necroscope.cli.fleet.asking import add_place, add_range, now_us, place_address, range_of
from necroscope.errors import UsageError

LONGEST_US = 7 * 86400 * 10**6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet request` understands."""
    parser.add_argument("host", metavar="HOST", help="as the fleet calls it")
    add_place(parser)
    add_range(parser, default="1h")


def run(arguments: argparse.Namespace) -> Answer:
    """Write the request."""
    from necroscope.fleet.packages import needs_packages
    from necroscope.fleet.place.place import open_place
    from necroscope.fleet.ship.requests import Range, make_request
    from necroscope.store.store import safe_name

    begin_us, end_us = range_of(arguments)
    if end_us - begin_us > LONGEST_US:
        raise UsageError("that is longer than a week", hint="ask for the minutes that matter: -b T -e T")
    host = arguments.host
    if not host or safe_name(host) != host:
        raise UsageError(f"'{host}' is not the name of a host of a fleet")
    with needs_packages():
        place = open_place(place_address(arguments))
        name = make_request(place, host, Range(begin_us, end_us, now_us()))
    body = {"host": host, "begin_us": begin_us, "end_us": end_us, "request": name}
    return Answer(0, body, lambda screen: screen.wrap(f"{host} is asked: {name}"))
