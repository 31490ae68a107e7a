"""What this node tells its Kubernetes cluster: conditions of the node, and events. See docs/conditions.md.

necroscope kubernetes show       what is reported, and what the API server has
necroscope kubernetes report     report now; the recorder does it by itself with `record --kubernetes`
necroscope kubernetes remove     take our conditions off the node; a recorder that runs sets them again

In a pod, the address and the token are those of its service account, and NODE_NAME says which node it is.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_root, add_store, argument, duration
from necroscope.cli.screen import Screen, note
from necroscope.errors import NecroscopeError, NothingRecordedError, UsageError
from necroscope.sources.host import Host
from necroscope.store.config import KubernetesSettings, load_kubernetes_settings, parse_place
from necroscope.store.store import Store
from necroscope.store.store_place import host_name

if TYPE_CHECKING:
    from necroscope.kubernetes.condition import Condition
    from necroscope.kubernetes.node_status import Standing
    from necroscope.kubernetes.report import Report, Reported
    from necroscope.kubernetes.report_payload import Handover

ACTIONS = ("show", "report", "remove")
NICENESS = 10  # whatever runs on the node comes first
RUN_SECONDS = 30.0
STALE_SECONDS = 900.0  # nothing from the recorder for so long: it does not run, or does not report
EXIT_CODES = """exit codes:
  0    done; of `show`, no condition is True
  1    of `show`: a condition is True
  2    usage, or our own fault
  3    the API server is away or refuses; nothing recorded
  130  interrupted"""
STYLES = {"True": "critical", "False": "good", "Unknown": "warning"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `kubernetes` understands."""
    parser.epilog = EXIT_CODES
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=f"one of {', '.join(ACTIONS)}")
    add_store(parser)
    text = argument(parse_place)
    parser.add_argument("--address", type=text, metavar="URL", help="the API server (default: the pod's own)")
    parser.add_argument("--token-file", type=text, metavar="FILE", help="read again for every request")
    parser.add_argument("--ca-file", type=text, metavar="FILE", help="who signed its certificate")
    parser.add_argument("--node", type=text, metavar="NAME", help="which node (default: NODE_NAME)")
    add_root(parser, "the host's root: /host in a container")
    parser.add_argument("--config", type=Path, help="a TOML file (default /etc/necroscope/config.toml)")
    parser.add_argument("--handed-over", action="store_true", help="what to report is on standard input")
    parser.add_argument(
        "--seconds", type=duration, default=RUN_SECONDS, help="give up after so long (default 30s)"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """Tell, show, or take back."""
    # Imported here: HTTP and TLS take 30 ms, also of --help.
    from necroscope.kubernetes.access import access_of, node_of
    from necroscope.kubernetes.report import Report
    from necroscope.kubernetes.unsent_reports import KeptReports

    settings = _settings(arguments)
    host = Host(arguments.root)
    kept = KeptReports(Store(arguments.store).host_folder(host_name(host)))
    report = Report(access_of(settings), node_of(settings), kept, arguments.seconds)
    if arguments.action == "remove":
        return _remove(report, node_of(settings))
    if arguments.action == "show":
        return _show(report, _last(kept.last(), settings), node_of(settings))
    os.nice(NICENESS)
    handover = _handed_over() if arguments.handed_over else _last(kept.last(), settings)
    if handover is None:
        raise NothingRecordedError(
            "the recorder has not said yet how this node is", hint="record --kubernetes"
        )
    reported = report.tell(handover, host, time.time_ns())
    if reported.error and not getattr(arguments, "json", False):
        note(reported.error.what)
        note(f"  {reported.error.hint}")
    code = reported.error.exit_code if reported.error else 0
    return Answer(code, _document(reported), lambda screen: reported_text(screen, reported))


def _settings(arguments: argparse.Namespace) -> KubernetesSettings:
    names = ("address", "token_file", "ca_file", "node")
    return load_kubernetes_settings(arguments.config, {name: getattr(arguments, name) for name in names})


def _handed_over() -> Handover:
    from necroscope.kubernetes.report_payload import read_handover

    try:
        return read_handover(sys.stdin.buffer.read())
    except (OSError, ValueError) as error:
        hint = "it is for the recorder; without it, what it said last is reported"
        raise UsageError(f"--handed-over: {error}", hint=hint) from error


def _last(last: Handover | None, settings: KubernetesSettings) -> Handover | None:
    """Return the last report of the recorder as one for now; an old one says nothing about now."""
    from necroscope.kubernetes.conditions import conditions_unknown
    from necroscope.kubernetes.report_payload import Handover
    from necroscope.model.timestamp import iso_utc_seconds

    if last is None:
        return None
    stale_ns = max(STALE_SECONDS, 3 * settings.every_seconds) * 1e9
    if time.time_ns() - last.made_utc_ns > stale_ns:
        why = f"the recorder has not said anything since {iso_utc_seconds(last.made_utc_ns)}"
        return Handover(last.made_utc_ns, conditions_unknown(why))
    return Handover(last.made_utc_ns, last.conditions)  # its events were reported, or wait


def _show(report: Report, last: Handover | None, node: str) -> Answer:
    from necroscope.kubernetes.node_status import standing_conditions

    standing, error = {}, None
    try:
        standing = standing_conditions(report.read_node())
    except NecroscopeError as problem:
        error = problem
    conditions = last.conditions if last else ()
    statuses = [*(one.status for one in conditions), *(one.status for one in standing.values())]
    body: dict[str, Any] = {
        "ok": error is None,
        "node": node,
        "wanted": [_fields(one) for one in conditions],
        "standing": [_fields(one) for one in standing.values()],
        "error": _problem(error) if error else None,
    }
    code = error.exit_code if error else int("True" in statuses)
    return Answer(code, body, lambda screen: conditions_text(screen, node, conditions, standing, error))


def _remove(report: Report, node: str) -> Answer:
    count = report.remove()
    words = "1 condition" if count == 1 else f"{count} conditions"
    return Answer(0, {"node": node, "removed": count}, lambda _: f"{words} taken off node {node}")


def _document(reported: Reported) -> dict[str, Any]:
    error = reported.error
    return {
        "ok": error is None,
        "result": reported.result,
        "conditions": reported.conditions,
        "events": reported.events,
        "waiting": reported.waiting,
        "dropped": reported.dropped,
        "problems": reported.problems,
        "kept": reported.is_kept,
        "retry_after_seconds": getattr(error, "seconds", None),
        "cpu_seconds": round(time.process_time(), 3),
        "error": _problem(error) if error else None,
    }


def _fields(row: Any) -> dict[str, str]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def _problem(error: NecroscopeError) -> dict[str, str]:
    return {"slug": error.slug, "what": error.what, "hint": error.hint}


def conditions_text(
    screen: Screen,
    node: str,
    wanted: Sequence[Condition],
    standing: Mapping[str, Standing],
    error: NecroscopeError | None,
) -> str:
    """Condition by condition: what is reported, and what the API server has."""
    lines = [screen.wrap(f"node {node}")]
    if error:
        lines += [screen.wrap(f"the API server: {error.what}"), screen.wrap(error.hint, 2)]
    if not wanted:
        lines.append(screen.wrap("the recorder has not said yet how this node is: record --kubernetes"))
    told = {one.type: one for one in wanted}
    for type in dict.fromkeys([*told, *standing]):
        lines += ["", *_condition(screen, type, told.get(type), standing.get(type), is_known=error is None)]
    return "\n".join(lines)


def _condition(
    screen: Screen, type: str, told: Condition | None, there: Standing | None, *, is_known: bool
) -> list[str]:
    status = told.status if told else there.status if there else ""
    lines = [screen.paint(screen.line(type), STYLES.get(status, "bold"))]
    if told:
        lines.append(screen.wrap(f"told    {told.status}, {told.reason}: {told.message}", 2, 10))
    if there:
        told_at = f"since {there.since}, last told {there.heartbeat}"
        lines.append(screen.wrap(f"there   {there.status}, {there.reason}, {told_at}", 2, 10))
    elif is_known:
        lines.append(screen.wrap("there   the API server does not have it", 2, 10))
    return lines


def reported_text(screen: Screen, reported: Reported) -> str:
    """What became of a report."""
    told = f"{_number(reported.conditions, 'condition')} and {_number(reported.events, 'event')} told"
    lines = [told]
    if reported.waiting:
        lines.append(f"{_number(reported.waiting, 'event')} kept for later")
    if reported.dropped:
        lines.append(f"{_number(reported.dropped, 'event')} given up")
    return "\n".join(screen.wrap(line) for line in [*lines, *reported.problems])


def _number(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
