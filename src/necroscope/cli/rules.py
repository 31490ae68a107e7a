"""Files for the tools that you already run, made from the rules that Necroscope itself goes by.

necroscope rules prometheus >necroscope.rules.yaml     the alert rules
necroscope rules prometheus,npd -o rules/              all files of both
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from necroscope.cli.answer import Answer
from necroscope.cli.output_file import write_output
from necroscope.errors import UsageError
from necroscope.model.rule_file import RuleFile

DOCS = "https://necroscope.dev/docs"


@dataclass(frozen=True, slots=True)
class Kind:
    """Files for one tool. `module` has `files(docs)`, which makes them; the first is the one to print."""

    summary: str
    module: str


KINDS = {
    "prometheus": Kind("alerts on the recorder's own metrics", "necroscope.exporter.alert_rules"),
    "prometheus-node-exporter": Kind(
        "what node_exporter and cAdvisor can tell, without a recorder",
        "necroscope.exporter.node_exporter_rules",
    ),
    "prometheus-operator": Kind(
        "the alerts as a PrometheusRule, and a PodMonitor", "necroscope.exporter.operator_rules"
    ),
    "grafana": Kind("a dashboard: which node, what is wrong there, and why", "necroscope.exporter.dashboard"),
    "npd": Kind("node-problem-detector: kernel log lines, zombies", "necroscope.kubernetes.npd"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `rules` understands."""
    kinds = "; ".join(f"{name}: {kind.summary}" for name, kind in KINDS.items())
    parser.add_argument("kinds", metavar="KIND", help=f"one or more, with commas between them. {kinds}")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="write all files there")
    parser.add_argument("-f", "--force", action="store_true", help="overwrite files that are there")
    parser.add_argument(
        "--docs", default=DOCS, metavar="URL", help=f"where runbook links lead (default {DOCS})"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """Print the first file of a kind, or write all files of all kinds."""
    names = [name.strip() for name in arguments.kinds.split(",")]
    if unknown := [name for name in names if name not in KINDS]:
        raise UsageError(f"there are no rules for '{unknown[0]}'", hint=f"one of: {', '.join(KINDS)}")
    made = {name: _files(name, arguments.docs.rstrip("/")) for name in dict.fromkeys(names)}
    files = [file for some in made.values() for file in some]
    body = {"files": [{"name": file.name, "text": file.text} for file in files]}
    if arguments.output:
        _refuse_existing([arguments.output / file.name for file in files], force=arguments.force)
        written = [_write(arguments.output, file, force=arguments.force) for file in files]
        return Answer(0, body, lambda _: "\n".join(map(str, written)))
    if len(made) != 1 and not arguments.json:
        raise UsageError("several kinds of rules make several files", hint="-o DIR says where to")
    return Answer(0, body, lambda _: files[0].text.rstrip("\n"))


def _files(name: str, docs: str) -> tuple[RuleFile, ...]:
    made: tuple[RuleFile, ...] = import_module(KINDS[name].module).files(docs)
    return made


def _refuse_existing(paths: list[Path], *, force: bool) -> None:
    """All or none: half a set of new rules beside half an old one is what nobody asked for."""
    try:
        there = [] if force else [path for path in paths if path.exists()]
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
    if there:
        raise UsageError(f"{there[0]} exists", hint="-f overwrites it")


def _write(folder: Path, file: RuleFile, *, force: bool) -> Path:
    path = folder / file.name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path.parent}: {error.strerror}", hint="-o names a folder") from error
    write_output(path, file.text.encode(), force=force, is_program=file.is_program)
    return path
