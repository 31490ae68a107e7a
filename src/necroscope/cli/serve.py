"""The page: see what happened, from the overview to the function on the core, in a browser.

necroscope serve                                 on this machine alone, at http://127.0.0.1:8420/
necroscope serve --listen 10.0.0.7:8420 --token-file F --certificate C --key K
necroscope serve --fleet s3://BUCKET/PREFIX      the hosts of a fleet beside those of the store
necroscope serve -b 03:00 -e 04:00 -o moment.html    one file for a ticket, which needs no server

It only reads. On another address than this machine's own it wants a token, and TLS or a proxy that has it.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from necroscope.agent.stop_signals import Asked, signals
from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_store, argument
from necroscope.cli.output_file import add_output, refuse_existing, write_output
from necroscope.cli.screen import note
from necroscope.cli.selecting import add_range, choose_range
from necroscope.errors import NotInstalledError
from necroscope.model.quantities import parse_address
from necroscope.store.config import parse_listen

DEFAULT_ADDRESS = "127.0.0.1:8420"
LONGEST_NS = 12 * 3600 * 10**9  # without -b


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `serve` understands."""
    add_store(parser)
    parser.add_argument(
        "--fleet",
        metavar="PLACE",
        default="",
        help="the fleet of a place, too: a folder or s3://BUCKET/PREFIX",
    )
    parser.add_argument(
        "--listen",
        type=argument(parse_listen),
        default=DEFAULT_ADDRESS,
        metavar="HOST:PORT",
        help="where (default %(default)s; port 0: any free one)",
    )
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="who asks must know what is in it")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="for TLS, as PEM")
    parser.add_argument("--key", type=Path, metavar="FILE", help="of the certificate")
    parser.add_argument("--behind-proxy", action="store_true", help="a proxy with TLS stands before it")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another name under which the page is opened; may be given again",
    )
    add_range(parser)
    add_output(parser, "write the page of a range into one HTML file instead (without -b: the last 12 hours)")


def run(arguments: argparse.Namespace) -> Answer:
    """Serve until told to stop, or write the one file."""
    if arguments.output:
        return _write_file(arguments)
    with signals() as asked:
        return _serve(arguments, asked)


def _serve(arguments: argparse.Namespace, asked: Asked) -> Answer:
    # Imported here: the file alone does not need a server, nor does --help.
    from necroscope.server.app import Settings, build_app
    from necroscope.server.connection_limits import Connections
    from necroscope.server.listening import (
        ListenConfig,
        check_listen_config,
        is_loopback,
        open_listener,
        tls_of,
    )
    from necroscope.server.origin_policy import names_of
    from necroscope.server.questions.fleet.fleet_store import check_place
    from necroscope.server.serving import serve
    from necroscope.server.token_file import read_token

    if arguments.fleet:
        with suppress(NotInstalledError):  # the page will say so
            check_place(arguments.fleet)
    host, port = parse_address(arguments.listen)
    token = read_token(arguments.token_file) if arguments.token_file else ""
    config = ListenConfig(
        host, port, bool(token), arguments.certificate, arguments.key, arguments.behind_proxy
    )
    check_listen_config(config)
    tls = tls_of(config)
    with open_listener(config, Connections()) as listener:
        port = listener.getsockname()[1]
        names = names_of(
            port,
            [_bracketed(host), *arguments.allow_host],
            loopback=is_loopback(config),
            is_behind_proxy=config.is_behind_proxy,
        )
        settings = Settings(
            arguments.store,
            names,
            token,
            is_secure=config.has_tls or config.is_behind_proxy,
            fleet=arguments.fleet,
        )
        address = f"{'https' if tls else 'http'}://{_bracketed(host)}:{port}/"
        with suppress(OSError):  # nobody watches
            note(f"the page is at {address}{' and asks for the token' if token else ''}")
        requests = serve(build_app(settings), listener, tls, asked.when_stopped)
    answered = "1 request" if requests == 1 else f"{requests} requests"
    body = {"address": address, "requests": requests}
    return Answer(0, body, lambda screen: screen.wrap(f"{answered} answered at {address}"))


def _bracketed(host: str) -> str:
    """A host as it stands in an address."""
    return f"[{host}]" if ":" in host else host


def _write_file(arguments: argparse.Namespace) -> Answer:
    """Gather the answers, and write them with the page."""
    from necroscope.server.one_file.range_page import range_page
    from necroscope.server.questions.recorded_store import RecordedStore
    from necroscope.server.questions.selection import US_NS, Range

    refuse_existing(arguments)
    chosen = choose_range(arguments)
    begin_ns, end_ns = chosen.time.begin_ns, chosen.time.end_ns
    if not arguments.begin:
        begin_ns = max(end_ns - LONGEST_NS, min(segment.begin_ns for segment in chosen.segments))
    span = Range(chosen.host, begin_ns // US_NS, -(-end_ns // US_NS))
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
