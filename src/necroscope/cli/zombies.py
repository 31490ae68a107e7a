"""Zombie memory cgroups: how many, who leaks them, what holds them, what they cost and when it will hurt.

necroscope zombies                       look for ten seconds, or ask the recorder that runs
necroscope zombies --watch --by creator
necroscope zombies --list --json         names those that the ledger can name, and says how many of all
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace
from pathlib import Path

from necroscope.cli.answer import Answer, envelope
from necroscope.cli.arguments import add_root, add_store, look_duration
from necroscope.cli.screen import Screen, progress_bar, screen_of
from necroscope.cli.selecting import add_range
from necroscope.cli.watching import every_second, show, stopping
from necroscope.cli.zombies_document import zombies_document
from necroscope.cli.zombies_look import LiveLook
from necroscope.cli.zombies_recorded import look_back
from necroscope.cli.zombies_text import summary_line, zombies_text
from necroscope.diagnosis.zombies.zombie_report import ZombieReport, zombie_report
from necroscope.errors import UsageError
from necroscope.signals.thresholds import Thresholds, load_thresholds
from necroscope.sources.cgroup_ledger import LEAKS_KEPT

INTERRUPTED = 130
LOOK_SECONDS = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `zombies` understands."""
    parser.add_argument(
        "-d",
        "--duration",
        type=look_duration,
        help="how long to look where no recorder runs (default 10s), or to watch",
    )
    parser.add_argument("--watch", action="store_true", help="again every second, until Ctrl-C")
    parser.add_argument(
        "--by", choices=("path", "creator", "unit"), default="unit", help="add up by this (default unit)"
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help=f"name n of m zombies: a reading of the ledger names the newest {LEAKS_KEPT} of the new ones",
    )
    add_root(parser, "look at another root: a container's /host")
    parser.add_argument("--config", type=Path, help="a TOML file with thresholds")
    add_store(parser, needed=False)
    add_range(parser)


def run(arguments: argparse.Namespace) -> Answer:
    """Look, or look back, and judge."""
    thresholds = load_thresholds(arguments.config)
    if arguments.end or arguments.host:
        if arguments.watch:
            raise UsageError("--watch shows this host now: it has neither an end nor another host")
        if arguments.store is None:
            raise UsageError("--end and --host look at recordings: --store must say where they are")
        return _answer(arguments, zombie_report(look_back(arguments, thresholds), thresholds), 0.0, False)
    return _watch(arguments, thresholds) if arguments.watch else _look(arguments, thresholds)


def _look(arguments: argparse.Namespace, thresholds: Thresholds) -> Answer:
    with stopping() as stop:
        look = LiveLook(arguments, thresholds)
        wanted = arguments.duration or (0.0 if look.recorder else LOOK_SECONDS)
        seconds = wanted if look.is_live else 0.0
        passed = 0.0
        try:
            for passed in every_second(seconds, stop):
                look.read()
                progress_bar(round(passed), math.ceil(seconds))
        finally:
            progress_bar(1, 1)
        return _answer(arguments, _report(look, thresholds), passed, stop.is_set())


def _watch(arguments: argparse.Namespace, thresholds: Thresholds) -> Answer:
    with stopping() as stop:
        look = LiveLook(arguments, thresholds)
        if not look.is_live:
            raise UsageError("--watch needs a live host: a recorded tree stays as it is")
        is_terminal = bool(sys.stdout and sys.stdout.isatty()) and not arguments.json
        passed = 0.0
        for passed in every_second(arguments.duration, stop):
            look.read()
            report = _report(look, thresholds)
            if arguments.json:
                body = {**zombies_document(report, arguments.by, passed), "interrupted": False}
                show(envelope("zombies", True, body), again=False)
            elif is_terminal:
                screen = screen_of(sys.stdout)
                show(screen.shown("\n".join(zombies_text(screen, report, arguments.by, passed))), again=True)
            else:
                show(screen_of(sys.stdout).shown(summary_line(report)), again=False)
        if is_terminal:
            show("", again=True)  # in its place, `main` prints all of the last frame
        return _answer(arguments, report, passed, stop.is_set())


def _report(look: LiveLook, thresholds: Thresholds) -> ZombieReport:
    report = zombie_report(look.seen(), thresholds)
    return replace(report, not_checked=(*report.not_checked, *look.troubles))


def _answer(arguments: argparse.Namespace, report: ZombieReport, seconds: float, stopped: bool) -> Answer:
    code = INTERRUPTED if stopped else int(report.is_alarming)
    body = {**zombies_document(report, arguments.by, seconds), "interrupted": stopped}

    def render(screen: Screen) -> str:
        return "\n".join(zombies_text(screen, report, arguments.by, seconds))

    return Answer(code, body, render)
