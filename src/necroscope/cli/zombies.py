"""Zombie memory cgroups: how many, who leaks them, what holds them, what they cost and when it will hurt.

necroscope zombies                       look for ten seconds, or ask the recorder that runs
necroscope zombies --watch --by creator
necroscope zombies --list --json         names those that the ledger can name, and says how many of all
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from necroscope.cli.answer import INTERRUPTED, Answer, envelope
from necroscope.cli.arguments import add_root, add_store, look_duration
from necroscope.cli.screen import Screen, progress_bar, screen_of
from necroscope.cli.selecting import add_range
from necroscope.cli.watching import every_second, show, stopping
from necroscope.cli.zombies_look import LiveLook, look_back
from necroscope.cli.zombies_text import NamedZombies, named_zombies, summary_line, zombies_text
from necroscope.diagnosis.zombies.ledger_shares import By, shares_by
from necroscope.diagnosis.zombies.walk_time import WalkTime
from necroscope.diagnosis.zombies.wall import Wall
from necroscope.diagnosis.zombies.zombie_report import MINUTE, ZombieReport, zombie_report
from necroscope.errors import UsageError
from necroscope.model.timestamp import iso_utc
from necroscope.signals.thresholds import Thresholds, load_thresholds
from necroscope.sources.cgroup_ledger import LEAKS_KEPT
from necroscope.sources.zombie_pins import ZombiePins
from necroscope.statistics.theil_sen import Trend

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


def zombies_document(report: ZombieReport, by: By, seconds: float) -> dict[str, Any]:
    """The body of --json."""
    seen, count = report.seen, report.seen.counts.memory
    named = named_zombies(report)
    return {
        "host": seen.labels,
        "time": iso_utc(seen.time_ns),
        "seconds": round(seconds, 3),
        "counts": count,
        "others": seen.counts.others,
        "is_leaking": report.is_leaking,
        "is_alarming": report.is_alarming,
        "leak_rate": _trend(report.rate, MINUTE, "cgroups/min"),
        "ledger": _ledger(report, by),
        "zombies": _leaks(report, named) if seen.leaks is not None else None,
        "named": _named(named),
        "pins": _pins(seen.pins.value),
        "costs": {
            "memory": {
                **asdict(report.memory),
                "bytes_each": round(report.memory.bytes_each),
                "total_bytes": report.memory.total_bytes,
                "of_bytes": seen.memory_total_bytes,
            }
            if report.memory
            else None,
            "reads": seen.reads.value or (),
            "walks": _walks(seen.walks),
        },
        "trend": _trend(report.trend, MINUTE, "cgroups/min"),
        "wall": _wall(report.wall),
        "not_checked": report.not_checked,
    }


def _trend(trend: Trend | None, per: float, unit: str) -> dict[str, Any] | None:
    if trend is None:
        return None
    return {
        "value": trend.slope.value * per,
        "low": trend.slope.low * per,
        "high": trend.slope.high * per,
        "unit": unit,
        "is_trend": trend.slope.is_trend,
        "level": round(trend.level, 1),
        "points": trend.points,
        "seconds": round(trend.seconds, 3),
        "after_drop": trend.after_drop,
    }


def _ledger(report: ZombieReport, by: By) -> dict[str, Any] | None:
    ledger = report.seen.ledger.value
    if ledger is None:
        return None
    return {
        "seconds": round(report.ledger_seconds or 0, 3),
        "dying": ledger.dying,
        "zombies": ledger.zombies,
        "older": report.older,
        "beyond_kernel": max(ledger.dying - report.seen.dying_at_ledger, 0),
        "lost_events": ledger.lost,
        "untracked": ledger.untracked,
        "freed_older": ledger.freed_older,
        "by": by,
        "shares": shares_by(ledger.groups, by),
    }


def _leaks(report: ZombieReport, named: NamedZombies | None) -> list[dict[str, Any]]:
    """The zombies that have a name, the newest first."""
    now_ns = report.seen.ledger_time_ns
    rows = named.leaks if named else ()
    return [{**leak._asdict(), "age_seconds": round((now_ns - leak.removed_ns) / 1e9, 3)} for leak in rows]


def _named(named: NamedZombies | None) -> dict[str, Any] | None:
    if named is None:
        return None
    return {
        "count": len(named.leaks),
        "of": named.of,
        "left_out": named.left_out,
        "reason": named.reason,
    }


def _pins(pins: ZombiePins | None) -> dict[str, Any] | None:
    if pins is None:
        return None
    return {
        **asdict(pins),
        "by_parent": [{"cgroup": cgroup, **asdict(held)} for cgroup, held in pins.by_parent],
    }


def _walks(walks: WalkTime | str) -> dict[str, Any] | None:
    if isinstance(walks, str):
        return None
    rows = [
        {"id": walk.id, "what": walk.what, "grows_with_zombies": walk.zombies, "core_seconds_per_hour": taken}
        for walk, taken in walks.per_hour
    ]
    return {"seconds": round(walks.seconds, 3), "samples": walks.samples, "walks": rows}


def _wall(wall: Wall) -> dict[str, Any]:
    return {
        "outlook": wall.outlook.value,
        "level": wall.first.level if wall.first else None,
        "because_of": wall.first.id if wall.first else None,
        "seconds": wall.seconds,
        "earliest_seconds": wall.earliest_seconds,
        "latest_seconds": wall.latest_seconds,
        "costs": wall.costs,
    }
