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
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import duration
from necroscope.cli.fleet.asking import add_question, asked_fleet, now_us, place_address
from necroscope.cli.fleet.documents import document_of
from necroscope.cli.screen import Screen
from necroscope.fleet.packages import needs_packages
from necroscope.model.fleet.job import Blame, JobBlame
from necroscope.model.timestamp import iso_utc

if TYPE_CHECKING:
    from necroscope.model.fleet.job import Jobs

MOST_OF_EACH = 20
HEADINGS = {
    Blame.NODE: "Put down to a node",
    Blame.OWN: "Failed by themselves",
    Blame.UNKNOWN: "No event near their end",
    Blame.NOT_CHECKED: "Not checked",
}
EXIT_CODES = """exit codes:
  0    no more failures near events than by chance
  1    nodes explain failures
  2    usage, or our own fault
  3    a cluster cannot be asked, or nothing was ingested"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet jobs` understands."""
    parser.epilog = EXIT_CODES
    add_question(parser)
    parser.add_argument(
        "--window",
        type=_window,
        default=None,
        metavar="D",
        help="how long before the end of a job an event counts (default 30s)",
    )
    _add_clusters(parser)
    _add_kubernetes(parser)


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
    with needs_packages():
        from necroscope.cli.fleet.jobs_clusters import ask_clusters, check_clusters, keep
        from necroscope.fleet.jobs.kept_jobs import join_jobs, read_kept_jobs
        from necroscope.fleet.questions.jobs import Sought, ask_jobs
        from necroscope.fleet.questions.jobs_gathered import gather_recorded
        from necroscope.fleet.questions.jobs_window import default_window

        clusters = check_clusters(arguments)
    with asked_fleet(arguments) as fleet:
        names = arguments.cluster or [one.name for one in clusters]
        kept = read_kept_jobs(fleet.tables, *fleet.span_us, names)
        recorded = gather_recorded(fleet.tables, fleet.engine, *fleet.span_us)
        told = ask_clusters(arguments, clusters, fleet, recorded)
        sought = Sought(fleet.span_us, fleet.kinds, default_window(arguments.window))
        jobs = ask_jobs(fleet.tables, fleet.engine, join_jobs(kept, told.jobs), sought, recorded)
        if arguments.keep:
            keep(place_address(arguments), told, kept, now_us())
    body = {**document_of(jobs), "clusters": [one.name for one in clusters], "not_told": list(told.notes)}
    return Answer(int(jobs.beyond_chance), body, lambda screen: jobs_text(screen, jobs, told.notes))


def _window(text: str) -> float:
    seconds = duration(text)
    if not 1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not between 1s and 1h")
    return seconds


def jobs_text(screen: Screen, jobs: Jobs, notes: Sequence[str]) -> str:
    """All of it."""
    style = "critical" if jobs.beyond_chance else "bold"
    lines = [screen.paint(screen.wrap(_verdict(jobs)), style)]
    lines += [screen.wrap(line) for line in _rates(jobs)]
    for blame, heading in HEADINGS.items():
        rows = [one for one in jobs.blames if one.blame == blame]
        if rows:
            lines += ["", screen.paint(f"{heading}: {len(rows)}", "bold"), _table(screen, rows)]
    told = [*filter(None, [jobs.note]), *notes]
    if told:
        lines += ["", *(screen.paint(screen.wrap(line), "dim") for line in told)]
    return "\n".join(lines)


def _verdict(jobs: Jobs) -> str:
    kinds = " or ".join(jobs.kinds)
    if not jobs.failed:
        return f"No job failed: {jobs.ended} ended, {jobs.jobs} were there."
    if not jobs.checked:
        return f"None of {jobs.failed} failed jobs could be checked."
    if not jobs.attributed:
        return f"None of {jobs.checked} failed jobs is put down to a node: no {kinds} near their end."
    low, high = jobs.excess_interval
    said = f"{jobs.attributed} of {jobs.checked} failed jobs ended near a {kinds}"
    if not jobs.beyond_chance:
        return f"{said}, which may be chance: {jobs.expected:.2g} expected (p {jobs.p:.2g})."
    return (
        f"{said}, {jobs.expected:.2g} expected by chance: nodes explain {jobs.excess:.1f} of them"
        f" ({low:.0f} to {high:.0f}, p {jobs.p:.1g})."
    )


def _rates(jobs: Jobs) -> list[str]:
    if jobs.success_rate is None or jobs.success_rate_without is None:
        return []
    rate = f"{jobs.success_rate:.1%} of {jobs.ended} jobs succeeded"
    if jobs.success_rate_without_interval and jobs.attributed:
        low, high = jobs.success_rate_without_interval
        rate += f"; without these {jobs.success_rate_without:.1%} would have ({low:.1%} to {high:.1%})"
    check = jobs.check
    if not check.jobs:
        return [f"{rate}."]
    return [
        f"{rate}.",
        f"Of {check.jobs} that succeeded, {check.with_event} ended near one, {check.expected:.2g} expected.",
    ]


def _table(screen: Screen, rows: Sequence[JobBlame]) -> str:
    shown = [(_name(one), _words(one)) for one in rows[:MOST_OF_EACH]]
    if len(rows) > MOST_OF_EACH:
        shown.append(("", f"and {len(rows) - MOST_OF_EACH} more: --json lists all"))
    return screen.table(shown)


def _name(one: JobBlame) -> str:
    when = iso_utc(one.job.end_us * 1000)[:19] if one.job.end_us is not None else "?"
    return f"{when} {one.job.id}"


def _words(one: JobBlame) -> str:
    chance = f"; chance {one.by_chance:.2%}" if one.blame == Blame.NODE and one.by_chance is not None else ""
    return f"{one.sentence}{chance}"
