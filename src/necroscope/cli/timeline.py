"""The state of every core in every second of a recorded range, and what happened in it.

necroscope timeline                      the last ten minutes there are
necroscope timeline -b 14:00 -e 14:10
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_store, duration
from necroscope.cli.events import event_document, event_lines
from necroscope.cli.screen import Screen
from necroscope.cli.selecting import add_range, choose_range, whole_seconds
from necroscope.errors import UsageError
from necroscope.findings.core_states import LEGEND, MISSING, CoreStates, core_states
from necroscope.findings.thresholds import load_thresholds
from necroscope.recording.clock import Anchor
from necroscope.recording.stored_events import StoredEvent, events_between

SECOND_NS = 10**9
MARGIN = 11  # for the number of the core at the left, and a line at both ends
MOST_ROWS = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `timeline` understands."""
    add_store(parser)
    add_range(parser)
    parser.add_argument(
        "--step", type=duration, help="time of a column (default: a second; fitted to the screen)"
    )
    parser.add_argument("--all", action="store_true", help="all cores; else the 16 that had it worst")
    parser.add_argument("--config", type=Path, help="a TOML file with thresholds")


def run(arguments: argparse.Namespace) -> Answer:
    """Read the counters, and draw."""
    segments, begin_ns, end_ns = choose_range(arguments)
    step_ns = int(arguments.step * 1e9) if arguments.step else SECOND_NS
    if step_ns < SECOND_NS:
        raise UsageError("--step: the shortest step is a second")
    # A range may be of years; there is nothing to draw where nothing is recorded.
    first_ns, last_ns = whole_seconds(segments)
    begin_ns, end_ns = max(begin_ns - begin_ns % SECOND_NS, first_ns), min(end_ns, last_ns)
    thresholds = load_thresholds(arguments.config)
    states = core_states(segments, begin_ns, end_ns, step_ns, thresholds)
    events = events_between(segments, begin_ns, end_ns)
    host = segments[-1].host

    def text(screen: Screen) -> str:
        shown = states
        if not arguments.step and states.columns > screen.width - MARGIN:
            fitted = -(-states.columns // max(screen.width - MARGIN, 10)) * SECOND_NS
            shown = core_states(segments, begin_ns, end_ns, fitted, thresholds)
        return "\n".join(_text(screen, host, shown, events, every=arguments.all))

    return Answer(0, _document(host, end_ns, states, events), text)


def _document(host: str, end_ns: int, states: CoreStates, events: Sequence[StoredEvent]) -> dict[str, Any]:
    utc = Anchor(0, 0)
    return {
        "host": host,
        "begin": utc.iso(states.begin_ns),
        "end": utc.iso(end_ns),
        "step_seconds": states.step_ns / SECOND_NS,
        "columns": states.columns,
        "legend": LEGEND,
        "cores": [{"core": core, "states": row} for core, row in states.states.items()],
        "missing": states.missing,
        "events": [event_document(event) for event in events],
    }


def _text(
    screen: Screen, host: str, states: CoreStates, events: Sequence[StoredEvent], *, every: bool
) -> Iterator[str]:
    utc = Anchor(0, 0)
    step = states.step_ns // SECOND_NS
    each = "a second" if step == 1 else f"{step} s"
    yield screen.paint(screen.wrap(f"{host}, from {utc.iso(states.begin_ns)}, {each} a column"), "bold")
    worst = states.worst_first
    shown = sorted(worst if every else worst[:MOST_ROWS])
    for core in shown:
        yield f"{f'core {core}':>8} |{states.states[core]}|"
    if len(shown) < len(worst):
        yield screen.wrap(f"{len(worst) - len(shown)} quieter cores are left out; --all shows them")
    used = set("".join(states.states[core] for core in shown))
    marks = {MISSING: "blank"}
    legend = [f"{marks.get(letter, letter)} {text}" for letter, text in LEGEND.items() if letter in used]
    yield screen.wrap("; ".join(legend))
    if events:
        yield ""
        yield event_lines(screen, events)
        yield screen.wrap(f"See one: necroscope flame --around {events[-1].id}", hanging=2)
