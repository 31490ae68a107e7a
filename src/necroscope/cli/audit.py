"""What runs here, or would in an image, without being needed: every unit, its origin, cost and use.

necroscope audit                                      look at this machine
necroscope audit --root /mnt/image --policy image.toml    gate an image: exit 1 if anything is found
necroscope audit --root /mnt/image --format sarif -o audit.sarif
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_root, look_duration
from necroscope.cli.audit_reports import FORMATS
from necroscope.cli.audit_text import audit_lines, verdict
from necroscope.cli.finding_text import finding_document
from necroscope.cli.output_file import add_output, refuse_existing, write_output
from necroscope.cli.screen import WIDEST, Screen, progress_bar
from necroscope.errors import UsageError
from necroscope.inventory.judge import judge
from necroscope.inventory.look import Look, look_at_units
from necroscope.inventory.policy import Policy, read_policy
from necroscope.model.finding import Severity
from necroscope.model.inventory import AuditedUnit, Inventory
from necroscope.model.judgement import Judgement
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.host import Host

INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `audit` understands."""
    parser.add_argument(
        "-d", "--duration", type=look_duration, default=5.0, help="how long to look (default 5s)"
    )
    add_root(parser, "an image that is mounted, or a container's /host")
    parser.add_argument("--policy", type=Path, metavar="FILE", help="units to allow, forbid or ask about")
    parser.add_argument("--all", action="store_true", help="list units that are not enabled as well")
    parser.add_argument(
        "--format", choices=("text", *FORMATS), default="text", help="for CI systems (default text)"
    )
    add_output(parser, "write the report to a file instead")
    parser.add_argument(
        "--config", type=Path, help="a TOML file with thresholds (default /etc/necroscope/config.toml)"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """Look, judge, answer."""
    if arguments.format != "text" and arguments.json:
        raise UsageError(f"--json and --format {arguments.format} exclude each other", hint="choose one")
    if arguments.output and arguments.json:
        raise UsageError("-o writes a report and --json prints one", hint="audit --json > FILE")
    refuse_existing(arguments)
    policy = read_policy(arguments.policy) if arguments.policy else Policy()
    thresholds = load_thresholds(arguments.config)
    look = look_at_units(Host(arguments.root), arguments.duration, thresholds, progress_bar)
    today = datetime.datetime.now(datetime.UTC).date()
    judgement = judge(look.inventory, look.loops, policy, today)
    alarming = any(finding.severity is not Severity.INFO for finding in judgement.findings)
    code = INTERRUPTED if look.interrupted else int(alarming)
    return Answer(code, _document(look, judgement), _renderer(arguments, look.inventory, judgement))


def _document(look: Look, judgement: Judgement) -> dict[str, Any]:
    return {
        "verdict": verdict(look.inventory, judgement),
        "live": look.inventory.is_live,
        "seconds": round(look.inventory.seconds, 3),
        "interrupted": look.interrupted,
        "findings": [finding_document(finding) for finding in judgement.findings],
        "allowed": [
            {"finding": finding_document(one.finding), "reason": one.reason} for one in judgement.allowed
        ],
        "policy_without_effect": judgement.unused,
        "units": [_unit_document(unit) for unit in look.inventory.units],
        "not_checked": [asdict(row) for row in judgement.not_checked],
    }


def _unit_document(unit: AuditedUnit) -> dict[str, Any]:
    return {**asdict(unit), "origin": unit.origin.value}


def _renderer(
    arguments: argparse.Namespace, inventory: Inventory, judgement: Judgement
) -> Callable[[Screen], str]:
    """How to print the report; with -o it is written here and now, and then one line says so."""

    def render(screen: Screen) -> str:
        if arguments.format == "text":
            return "\n".join(audit_lines(screen, inventory, judgement, everything=arguments.all))
        return FORMATS[arguments.format](inventory, judgement)

    if not arguments.output:
        return render
    write_output(arguments.output, f"{render(Screen(width=WIDEST))}\n".encode(), force=arguments.force)
    return lambda screen: screen.wrap(f"{arguments.output}: {verdict(inventory, judgement)}")
