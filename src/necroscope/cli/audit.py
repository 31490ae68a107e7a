"""What runs here, or would in an image, without being needed: every unit, its origin, cost and use.

necroscope audit                                      look at this machine
necroscope audit --root /mnt/image --policy image.toml    gate an image: exit 1 if anything is found
necroscope audit --root /mnt/image --format sarif -o audit.sarif
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer, findings_exit_code
from necroscope.cli.arguments import add_root, look_duration
from necroscope.cli.audit_reports import FORMATS
from necroscope.cli.finding_text import finding_lines, not_checked_lines
from necroscope.cli.output_file import add_output, refuse_existing, write_output
from necroscope.cli.screen import WIDEST, Screen, progress_bar
from necroscope.errors import UsageError
from necroscope.findings.unit_evidence import clients_of, is_enabled
from necroscope.inventory.judge import judge
from necroscope.inventory.look import Look, look_at_units
from necroscope.inventory.policy import Policy, read_policy
from necroscope.model.amounts import bytes_text
from necroscope.model.inventory import AuditedUnit, Inventory, Origin, Running
from necroscope.model.judgement import Judgement
from necroscope.model.shell_command import necroscope_command
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.host import Host


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
    code = findings_exit_code(judgement.findings, interrupted=look.interrupted)
    return Answer(code, _document(look, judgement), _renderer(arguments, look.inventory, judgement))


def _document(look: Look, judgement: Judgement) -> dict[str, Any]:
    return {
        "verdict": verdict(look.inventory, judgement),
        "live": look.inventory.is_live,
        "seconds": round(look.inventory.seconds, 3),
        "interrupted": look.interrupted,
        "findings": judgement.findings,
        "allowed": judgement.allowed,
        "policy_without_effect": judgement.unused,
        "units": look.inventory.units,
        "not_checked": judgement.not_checked,
    }


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


def verdict(inventory: Inventory, judgement: Judgement) -> str:
    """One sentence: how many units are wrong, of how many."""
    wrong = len({finding.subject for finding in judgement.findings})
    enabled = sum(map(is_enabled, inventory.units))
    allowed = f", {len(judgement.allowed)} allowed by the policy" if judgement.allowed else ""
    where = "" if inventory.is_live else " (files only, nothing runs)"
    if not wrong:
        return f"nothing found in {enabled} enabled units{where}{allowed}"
    return f"{wrong} unit{'s' if wrong > 1 else ''} to look at, {enabled} are enabled{where}{allowed}"


def audit_lines(
    screen: Screen, inventory: Inventory, judgement: Judgement, *, everything: bool
) -> Iterator[str]:
    """The whole report."""
    worst = judgement.findings[0].severity.value if judgement.findings else "good"
    yield screen.paint(screen.wrap(verdict(inventory, judgement)), worst)
    for finding in judgement.findings:
        yield ""
        yield from finding_lines(screen, finding)
    if judgement.findings:
        yield ""
        more = necroscope_command("explain", dict.fromkeys(one.id for one in judgement.findings))
        yield screen.wrap(f"More: {more}", hanging=6)
    yield from _allowed(screen, judgement)
    yield ""
    shown = [unit for unit in inventory.units if everything or is_enabled(unit) or _is_up(unit.running)]
    yield screen.paint("Units" if everything else "Units that are enabled or run", "bold")
    yield from _unit_lines(screen, shown)
    yield from not_checked_lines(screen, judgement.not_checked)


def _is_up(running: Running | None) -> bool:
    return running is not None and running.active_state != "inactive"


def _allowed(screen: Screen, judgement: Judgement) -> Iterator[str]:
    rows = ((one.finding.subject, f"{one.finding.id}: {one.reason}") for one in judgement.allowed)
    yield from screen.section("Allowed by the policy", [screen.table(rows)])
    for line in judgement.unused:
        yield screen.wrap(f"policy: {line}", 2, 4)


def _unit_lines(screen: Screen, units: Iterable[AuditedUnit]) -> Iterator[str]:
    services = [unit for unit in units if unit.name.endswith((".service", ".socket", ".timer", ".path"))]
    yield screen.table((unit.name, ", ".join(_words(unit))) for unit in services)


def _words(unit: AuditedUnit) -> Iterator[str]:
    """What is worth a word about a unit, most telling first; what is as expected is left out."""
    running = unit.running
    if running:
        yield from _doing(running)
    yield unit.state or "no unit file"
    if unit.origin is not Origin.GENERATED:  # said already
        yield unit.package or unit.origin.value
    if unit.preset and unit.state in ("enabled", "disabled") and unit.state != unit.preset:
        yield f"the preset says {unit.preset}"
    if unit.drop_ins:
        yield f"{len(unit.drop_ins)} drop-in{'s' if len(unit.drop_ins) > 1 else ''}"
    if unit.needed_by:
        yield f"needed by {_some(unit.needed_by)}"
    if unit.agent:
        lacking = [need.what for need in unit.agent.needs if need.met is False]
        yield f"{unit.agent.id}{' without ' + ' and '.join(lacking) if lacking else ''}"
    yield from (*unit.obstacles, *unit.conditions)


def _doing(running: Running) -> Iterator[str]:
    loop = "crash-looping" if running.is_failing else "restarted again and again"
    yield loop if running.is_looping else f"{running.active_state} ({running.sub_state})"
    if running.condition:
        yield f"not started: {running.condition}"
    if running.restarts:
        yield f"{running.restarts:,} restart{'s' if running.restarts > 1 else ''}"
    if running.cpu_ratio and running.cpu_ratio >= 0.001:
        yield f"{running.cpu_ratio:.1%} of a core"
    if running.memory_bytes:
        yield bytes_text(running.memory_bytes)
    if running.cgroups_made:
        leaked = f", {running.cgroups_leaked:,} leaked" if running.cgroups_leaked else ""
        yield f"made {running.cgroups_made:,} memory cgroups{leaked}"
    if clients := clients_of(running):
        yield f"serves {_some(clients)}"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
