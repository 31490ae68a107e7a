"""Files for the tools that you already run, made from the rules that Necroscope itself goes by.

necroscope rules prometheus >necroscope.rules.yaml     the alert rules
necroscope rules prometheus,npd -o rules/              all files of both
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from necroscope.cli.answer import Answer
from necroscope.cli.output_file import write_output
from necroscope.errors import UsageError
from necroscope.exporter import rule_files
from necroscope.kubernetes import npd
from necroscope.model.rule_file import RuleFile

DOCS = "https://necroscope.dev/docs"
URL = re.compile(r"[!#-\[\]-~]+")  # goes between quotes in YAML and JSON: no quote, backslash or space


@dataclass(frozen=True, slots=True)
class Kind:
    """Files for one tool. `files` takes where runbook links lead; the first file is the one to print."""

    summary: str
    files: Callable[[str], tuple[RuleFile, ...]]


KINDS = {
    "prometheus": Kind("alerts on the recorder's own metrics", rule_files.prometheus),
    "prometheus-node-exporter": Kind(
        "what node_exporter and cAdvisor can tell, without a recorder", rule_files.prometheus_node_exporter
    ),
    "prometheus-operator": Kind(
        "the alerts as a PrometheusRule, and a PodMonitor", rule_files.prometheus_operator
    ),
    "grafana": Kind("a dashboard: which node, what is wrong there, and why", rule_files.grafana),
    "npd": Kind("node-problem-detector: kernel log lines, zombies", npd.files),
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
    if not URL.fullmatch(arguments.docs):
        raise UsageError(f"--docs '{arguments.docs}' is not a URL", hint=f"for example {DOCS}")
    made = {name: KINDS[name].files(arguments.docs.rstrip("/")) for name in dict.fromkeys(names)}
    files = [file for some in made.values() for file in some]
    body = {"files": [{"name": file.name, "text": file.text} for file in files]}
    if arguments.output:
        _refuse_existing([arguments.output / file.name for file in files], force=arguments.force)
        written = [_write(arguments.output, file, force=arguments.force) for file in files]
        return Answer(0, body, lambda _: "\n".join(map(str, written)))
    if len(made) != 1 and not arguments.json:
        raise UsageError("several kinds of rules make several files", hint="-o DIR says where to")
    return Answer(0, body, lambda _: files[0].text.rstrip("\n"))


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
