"""Which Ray jobs failed because of a node: how many, how much of the success rate, against chance.

necroscope fleet jobs --ray http://127.0.0.1:8265 -b 7d
necroscope fleet jobs --ray http://ray-a:8265 --keep    every hour: Ray forgets its jobs
necroscope fleet jobs -b 30d                            jobs that were kept

A failed job with an event on one of its hosts from 30 s before to 5 s after its end is put down to the node,
unless what it said shows that it failed by itself. Chance is how often that happens to the same hosts at any
time. Nodes of Ray become hosts of the fleet by their names, instance ids and addresses, by --kubernetes for
KubeRay, or by --hosts-file. The token is taken as Ray does: RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH,
~/.ray/auth_token. Nothing in a cluster is changed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import duration
from necroscope.cli.fleet.asking import (
    add_engine,
    add_kinds,
    add_place,
    add_range,
    kinds_of,
    now_us,
    open_engine,
    open_tables,
    place_address,
    range_of,
)
from necroscope.cli.fleet.documents import document_of
from necroscope.cli.fleet.jobs_text import jobs_text
from necroscope.fleet.packages import needs_packages

EXIT_CODES = """exit codes:
  0    no more failures near events than by chance
  1    nodes explain failures
  2    usage, or our own fault
  3    a cluster cannot be asked, or nothing was ingested"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet jobs` understands."""
    parser.epilog = EXIT_CODES
    add_place(parser)
    add_range(parser)
    add_kinds(parser)
    parser.add_argument(
        "--window",
        type=_window,
        default=None,
        metavar="D",
        help="how long before the end of a job an event counts (default 30s)",
    )
    _add_clusters(parser)
    _add_kubernetes(parser)
    add_engine(parser)


def _add_clusters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ray", action="append", default=[], metavar="URL", help="a Ray dashboard; may be given again"
    )
    parser.add_argument(
        "--cluster",
        action="append",
        default=[],
        metavar="NAME",
        help="what to call each of them; without --ray, which kept jobs",
    )
    parser.add_argument(
        "--token-file",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="with a token: one for all, or one for each",
    )
    parser.add_argument("--ca-file", type=Path, metavar="FILE", help="who signed the dashboard's certificate")
    parser.add_argument("--keep", action="store_true", help="keep what was seen in the fleet's place")
    parser.add_argument(
        "--hosts-file", type=Path, metavar="FILE", help="`address or name = host` lines: which node is which"
    )


def _add_kubernetes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kubernetes",
        nargs="?",
        const="in-cluster",
        metavar="URL",
        help="ask the API server for the nodes of pods; without a URL, that of the pod we are in",
    )
    parser.add_argument("--kubernetes-namespace", metavar="NAME", help="of the Ray pods (default: our own)")
    parser.add_argument("--kubernetes-token", type=Path, metavar="FILE", help="read before each request")
    parser.add_argument("--kubernetes-ca", type=Path, metavar="FILE", help="who signed its certificate")


def run(arguments: argparse.Namespace) -> Answer:
    """Ask the clusters, then the tables."""
    range_us = range_of(arguments)
    with needs_packages():
        from necroscope.cli.fleet.jobs_clusters import ask_clusters, check_clusters, keep
        from necroscope.fleet.jobs.kept_jobs import join_jobs, read_kept_jobs
        from necroscope.fleet.questions.jobs import Sought, ask_jobs
        from necroscope.fleet.questions.jobs_gathered import gather_recorded
        from necroscope.fleet.questions.jobs_window import default_window

        clusters = check_clusters(arguments)
        tables = open_tables(arguments)
        with open_engine(arguments) as engine:
            kept = read_kept_jobs(tables, *range_us, arguments.cluster or [one.name for one in clusters])
            recorded = gather_recorded(tables, engine, *range_us)
            told = ask_clusters(arguments, clusters, tables, engine, recorded)
            sought = Sought(range_us, kinds_of(arguments), default_window(arguments.window))
            jobs = ask_jobs(tables, engine, join_jobs(kept, told.jobs), sought, recorded)
        if arguments.keep:
            keep(place_address(arguments), told, kept, now_us())
    body = {**document_of(jobs), "clusters": [one.name for one in clusters], "not_told": list(told.notes)}
    return Answer(int(jobs.beyond_chance), body, lambda screen: jobs_text(screen, jobs, told.notes))


def _window(text: str) -> float:
    seconds = duration(text)
    if not 1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not between 1s and 1h")
    return seconds
