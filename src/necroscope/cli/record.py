"""Record this node all the time: every core every second, the kernel log, rolling perf.

necroscope record                                      until Ctrl-C or SIGTERM; what it has is kept
necroscope record -d 10m --segment 30s --rate 199
necroscope record --listen 127.0.0.1:9464              with metrics for Prometheus
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from necroscope.agent.agent import Agent, Orders
from necroscope.agent.stop_signals import signals
from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_root, add_store, add_trust_kmsg, argument, duration
from necroscope.cli.screen import Screen, note
from necroscope.findings.capture_gap import recorder_findings
from necroscope.findings.userspace_kernel_lines import userspace_lines_text
from necroscope.model.quantities import parse_size
from necroscope.model.recorder_status import Status
from necroscope.sources.host import Host
from necroscope.store.config import (
    load_fleet_settings,
    load_kubernetes_settings,
    load_record_settings,
    parse_listen,
    parse_place,
    parse_rate,
    parse_segment,
    parse_textfile,
)
from necroscope.store.lock import held
from necroscope.store.store import Store
from necroscope.store.store_place import host_name, warning_about


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `record` understands."""
    add_store(parser)
    size = argument(parse_size)
    parser.add_argument("-d", "--duration", type=duration, help="how long (default: until it is stopped)")
    parser.add_argument("--segment", type=argument(parse_segment), help="length of a segment (default 120s)")
    parser.add_argument(
        "--rate", type=argument(parse_rate), help="samples a second and core (default 97; 0: none)"
    )
    parser.add_argument("--budget", type=size, help="size of all segments of this host (default 8GiB)")
    parser.add_argument(
        "--kept-budget", type=size, help="of it for those with events and around them (default a quarter)"
    )
    parser.add_argument("--age", type=duration, help="older segments are removed (default 7d)")
    parser.add_argument(
        "--listen", type=argument(parse_listen), metavar="HOST:PORT", help="serve /metrics there"
    )
    parser.add_argument(
        "--textfile",
        type=argument(parse_textfile),
        metavar="FILE.prom",
        help="write the metrics there every 15 s, for node_exporter's textfile collector",
    )
    parser.add_argument(
        "--heartbeat",
        type=Path,
        metavar="FILE",
        help="touch FILE every second while recording, for a liveness probe (docs/recorder.md)",
    )
    parser.add_argument(
        "--fleet",
        type=argument(parse_place),
        metavar="PLACE",
        help="ship summaries and events there: a folder or s3://BUCKET/PREFIX (docs/shipping.md)",
    )
    parser.add_argument(
        "--kubernetes",
        action="store_true",
        default=None,
        help="tell the cluster: conditions of this node, and events (docs/conditions.md)",
    )
    parser.add_argument(
        "--flight", action="store_true", help="keep all in memory, and write only when an event fires"
    )
    add_trust_kmsg(parser)
    parser.add_argument("--keep-perf-data", action="store_true", help="keep what perf wrote in each segment")
    parser.add_argument("--perf", default="perf", metavar="FILE", help="which perf to run")
    add_root(parser, "the host's root: /host in a container")
    parser.add_argument(
        "--config", type=Path, help="a TOML file (default /etc/necroscope/config.toml); SIGHUP reads it again"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """Record until told to stop."""
    names = ("segment", "rate", "budget", "kept_budget", "age", "listen", "textfile", "trust_kmsg")
    said = {name: getattr(arguments, name) for name in names}
    host = Host(arguments.root)
    orders = Orders(
        host=host,
        store=arguments.store,
        config=arguments.config,
        settings=lambda: load_record_settings(arguments.config, said),
        seconds=arguments.duration,
        flight=arguments.flight,
        keep_capture=arguments.keep_perf_data,
        perf=arguments.perf,
        say=note,
        fleet=lambda: load_fleet_settings(arguments.config, {"place": arguments.fleet}),
        kubernetes=lambda: load_kubernetes_settings(arguments.config, {"report": arguments.kubernetes}),
        heartbeat=arguments.heartbeat,
    )
    where = Store(arguments.store).host_folder(host_name(host))
    with signals() as asked, held(where):
        agent = Agent(orders, where, asked)
        with suppress(OSError):
            note(f"recording to {where}")
            if warning := warning_about(arguments.store):
                note(f"warning: {warning}")
        status = agent.run()
    findings = list(recorder_findings(status))
    body = {
        "folder": str(where),
        "findings": findings,
        "left_out": agent.left_out,
        **_document(status),
    }
    all_sealed = not status.sealing_error and not status.segments_incomplete
    return Answer(int(bool(findings)), body, lambda screen: _text(screen, where, status), ok=all_sealed)


def _document(status: Status) -> dict[str, Any]:
    document = asdict(status)
    document["costs"] = {cost.pop("part"): cost for cost in document["costs"]}
    return document


def _text(screen: Screen, where: Path, status: Status) -> str:
    segments = "1 segment" if status.segments_sealed == 1 else f"{status.segments_sealed} segments"
    seconds = "1 second" if status.moments == 1 else f"{status.moments} seconds"
    lines = [f"{seconds} recorded to {where}, {segments} sealed"]
    if status.frames_dropped:
        lines.append(f"{status.frames_dropped} of them could not be written")
    if status.gaps:
        holes = "1 hole" if status.gaps == 1 else f"{status.gaps} holes"
        lines.append(f"{holes}, {status.gap_seconds:.1f} s in all: necroscope events")
    if status.userspace_lines:
        lines.append(userspace_lines_text(status.userspace_lines))
    lines += [error for error in (status.store_error, status.profiling_error, status.sealing_error) if error]
    if status.ship and status.ship.error:
        lines.append(f"{status.ship.waiting} parts wait to be shipped: {status.ship.error}")
    if status.kubernetes and status.kubernetes.error:
        lines.append(f"the cluster was not told: {status.kubernetes.error}")
    return "\n".join(screen.wrap(line) for line in lines)
