"""Who and what ran more than usual in the seconds before an event, and whether it is chance.

necroscope culprit --around nic-reset-20261115T170035.803Z-3425 --cpu 5
necroscope culprit -b 12h               what all resets of twelve hours have in common

Without --around it looks at all NIC resets of the range, or, where there are none, at all saturated cores;
of more than 50, at the newest.
Exit code 1 means that something stands out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer, note_damaged
from necroscope.cli.screen import Screen
from necroscope.cli.selecting import Chosen, add_moment, around_event, choose, choose_range
from necroscope.cli.times import EventName
from necroscope.diagnosis.culprit import culprits_around, ranking_verdict, suspect_name
from necroscope.model.culprit import Ranking, Suspect
from necroscope.model.timestamp import iso_utc
from necroscope.profiles.window import Selection
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import StoredEvent, events_between, find_event

KINDS = ("nic-reset", "core-saturated")
MOST_ROWS = 5  # of each kind
MOST_WINDOWS = 50  # more do not make it surer what they have in common, and take longer
TITLES = {"process": "processes", "function": "kernel functions", "pair": "process in function"}
MARGIN = 36  # for the numbers at the left


@dataclass(frozen=True, slots=True)
class _Case:
    """What is to be explained."""

    segments: list[StoredSegment]
    windows: list[Selection]
    ids: list[str]  # of the events
    damaged: list[Damage]
    left_out: int = 0  # older windows, where there are too many


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `culprit` understands."""
    add_moment(parser)
    parser.add_argument("--config", type=Path, help="a TOML file with thresholds")
    # All samples count: a share of some of them would be a share of nothing.
    parser.set_defaults(process=[], thread=[], event=[], idle=True)


def run(arguments: argparse.Namespace) -> Answer:
    """Choose the windows, and rank."""
    thresholds = load_thresholds(arguments.config)
    case = _around(arguments) if arguments.around else _in_range(arguments)
    if not case.windows:
        body: dict[str, Any] = {"culprit": None, "suspects": [], "windows": [], "windows_left_out": 0}
        body["damaged"] = note_damaged(case.damaged)
        text = "nothing to explain: no NIC reset and no saturated core there; --around T looks at any moment"
        return Answer(0, {**body, "note": text}, lambda screen: screen.wrap(text))
    ranking, segments = culprits_around(case.segments, case.windows, thresholds, case.damaged)
    body = {
        **_document(ranking, segments[-1].host, case),
        "damaged": note_damaged(case.damaged),
    }
    stands_out = any(suspect.is_significant for suspect in ranking.suspects)
    title = f"{segments[-1].host}, {_what(ranking, case)}"
    return Answer(int(stands_out), body, lambda screen: "\n".join(_text(screen, ranking, title)))


def _around(arguments: argparse.Namespace) -> _Case:
    """One moment or event; of an event that names a core, that core."""
    segments, selection, damaged = choose(arguments)
    ids = []
    if isinstance(arguments.around, EventName):
        event = find_event(segments, arguments.around.id, damaged)
        ids.append(event.id)
        selection = _window(arguments, event)
    return _Case(segments, [selection], ids, damaged)


def _in_range(arguments: argparse.Namespace) -> _Case:
    """The newest events of a range that are of the gravest kind there is."""
    chosen: Chosen = choose_range(arguments)
    events = events_between(chosen.segments, chosen.time, chosen.damaged)
    trouble = [event for event in events if event.event.phase != "done"]
    of_kind = ([event for event in trouble if event.event.kind == kind] for kind in KINDS)
    windows: dict[str, Selection] = {}
    boot_id, ends_ns = "", dict[tuple[int, ...], int]()
    for event in next((found for found in of_kind if found), []):
        window = _window(arguments, event)
        if window.boot_id != boot_id:  # only those of the last boot can be compared
            boot_id, windows, ends_ns = window.boot_id, {}, {}
        # A driver writes several lines about one stall: the first stands for it.
        if window.begin_ns >= ends_ns.get(window.cpus, window.begin_ns):
            windows[event.id] = window
            ends_ns[window.cpus] = window.end_ns
    ids = list(windows)[-MOST_WINDOWS:]
    newest = [windows[id] for id in ids]
    return _Case(chosen.segments, newest, ids, chosen.damaged, len(windows) - len(newest))


def _window(arguments: argparse.Namespace, event: StoredEvent) -> Selection:
    """The seconds before an event, on its core where it names one; of a saturated core, while it was."""
    core = event.event.core
    cores = tuple(arguments.cpu) or (() if core is None else (core,))
    window = around_event(arguments, event, Selection(0, 0, cpus=cores, idle=True))
    return replace(window, begin_ns=event.utc_ns) if event.event.kind == "core-saturated" else window


def _document(ranking: Ranking, host: str, case: _Case) -> dict[str, Any]:
    windows = [
        {"begin": iso_utc(window.begin_ns), "end": iso_utc(window.end_ns), "cores": window.cpus}
        for window in case.windows
    ]
    return {
        "host": host,
        "events": case.ids,
        "windows": windows,
        "windows_left_out": case.left_out,
        "cores": ranking.cores,
        "window_seconds": ranking.window_seconds,
        "quiet_seconds": ranking.quiet_seconds,
        "compared": ranking.compared,
        "culprit": ranking.culprit,
        "suspects": ranking.suspects,
        "note": ranking.note,
    }


def _what(ranking: Ranking, case: _Case) -> str:
    cores = f"core {','.join(map(str, ranking.cores))}" if ranking.cores else "all cores"
    until = iso_utc(case.windows[-1].end_ns)
    some = f"{ranking.windows} windows, the last" if ranking.windows > 1 else "the seconds"
    older = f"; {case.left_out:,} older windows left out" if case.left_out else ""
    return (
        f"{cores}: {some} until {until}; {ranking.window_seconds} s against {ranking.quiet_seconds} "
        f"quiet ones, {ranking.compared} compared{older}"
    )


def _text(screen: Screen, ranking: Ranking, title: str) -> Iterator[str]:
    yield screen.paint(screen.wrap(title), "bold")
    yield screen.wrap(ranking_verdict(ranking))
    shares = {kind: [s for s in ranking.suspects if s.kind == kind][:MOST_ROWS] for kind in TITLES}
    for kind, suspects in shares.items():
        if suspects:
            yield ""
            yield f"{'share':>6} {'quiet':>6} {'lift':>6} {'above':>6} {'chance':>7}  {TITLES[kind]}"
            yield from _rows(screen, suspects, ranking)
    yield ""
    yield screen.wrap("* stands out. Above: seconds above every quiet one. Chance: that it alone does this.")


def _rows(screen: Screen, suspects: Sequence[Suspect], ranking: Ranking) -> Iterator[str]:
    for suspect in suspects:
        lift = "new" if suspect.lift is None else f"{min(suspect.lift, 9999):.3g}x"
        above = f"{suspect.seconds_above}/{ranking.window_seconds}"
        chance = f"{suspect.probability:.0e}" if suspect.probability < 0.001 else f"{suspect.probability:.2g}"
        numbers = f"{suspect.share:>6.1%} {suspect.quiet_share:>6.1%} {lift:>6} {above:>6} {chance:>7}"
        name = screen.wrap(
            f"{'*' if suspect.is_significant else ' '}{suspect_name(suspect)}", MARGIN, MARGIN + 1
        )
        yield f"{numbers} {name[len(numbers) + 1 :]}"
