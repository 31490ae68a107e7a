"""The state of every core in every second of a recorded range, and what happened in it.

necroscope timeline                      the last ten minutes there are
necroscope timeline -b 14:00 -e 14:10
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer, note_damaged
from necroscope.cli.arguments import add_store, duration
from necroscope.cli.events import event_document, event_lines, read_events_of
from necroscope.cli.screen import Screen, screen_of
from necroscope.cli.selecting import Chosen, add_range, choose_range, whole_seconds
from necroscope.errors import NothingRecordedError, UsageError
from necroscope.model.advice import around_command
from necroscope.model.timestamp import SECOND_NS, iso_utc
from necroscope.signals.core_states import LEGEND, MISSING, CoreStates, core_states
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.stored_events import StoredEvent

MARGIN = 11  # for the number of the core at the left, and a line at both ends
MOST_ROWS = 16
MOST_COLUMNS = 86_400  # for machines, unless a step is given: a day of seconds
MOST_CELLS = 10_000_000  # columns times cores, with a step of one's own
LONGEST_STEP_NS = 2**60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `timeline` understands."""
    add_store(parser)
    add_range(parser)
    parser.add_argument(
        "--step",
        type=duration,
        help="time of a column (default: a second, or more where that would be too many)",
    )
    parser.add_argument("--all", action="store_true", help="all cores; else the 16 that had it worst")
    parser.add_argument("--config", type=Path, help="a TOML file with thresholds")


def run(arguments: argparse.Namespace) -> Answer:
    """Read the counters, and draw."""
    chosen = choose_range(arguments)
    begin_ns, end_ns = _seconds_of(chosen, arguments)
    thresholds = load_thresholds(arguments.config)
    step_ns = _step_ns(arguments, chosen, end_ns - begin_ns)
    states = core_states(chosen.segments, begin_ns, end_ns, step_ns, thresholds)
    chosen.require_whole(states.damaged)
    chosen.damaged.extend(states.damaged)
    events = read_events_of(chosen)
    body = {**_document(chosen.host, end_ns, states, events), "damaged": note_damaged(chosen.damaged)}
    return Answer(
        0, body, lambda screen: "\n".join(_text(screen, chosen.host, states, events, every=arguments.all))
    )


def _seconds_of(chosen: Chosen, arguments: argparse.Namespace) -> tuple[int, int]:
    """The seconds to draw: whole ones, and none before or after all that is recorded."""
    first_ns, last_ns = whole_seconds(chosen.segments)
    begin_ns, end_ns = chosen.time.begin_ns, chosen.time.end_ns
    end_ns = end_ns if arguments.end else end_ns - end_ns % SECOND_NS
    begin_ns, end_ns = max(begin_ns - begin_ns % SECOND_NS, first_ns), min(end_ns, last_ns)
    if begin_ns >= end_ns:
        what = f"not a whole second of {chosen.host} is recorded there"
        raise NothingRecordedError(what, hint="try again in a second, or with a longer range")
    return begin_ns, end_ns


def _step_ns(arguments: argparse.Namespace, chosen: Chosen, length_ns: int) -> int:
    """The time of a column, chosen before anything is counted: the range may be of years."""
    seconds = -(-length_ns // SECOND_NS)
    if not arguments.step:
        most = MOST_COLUMNS if arguments.json else max(screen_of(sys.stdout).width - MARGIN, 10)
        return -(-seconds // most) * SECOND_NS
    step_ns = min(int(arguments.step * 1e9), LONGEST_STEP_NS)
    if step_ns < SECOND_NS:
        raise UsageError("--step: the shortest step is a second")
    cores = max(1, *(s.description.host.cores_online for s in chosen.segments))
    columns = -(-length_ns // step_ns)
    if columns * cores > MOST_CELLS:
        enough = -(-seconds // max(MOST_CELLS // cores, 1))
        what = f"--step: {columns:,} columns of {cores} cores are too many"
        raise UsageError(what, hint=f"--step {enough}s works, and so does a shorter range")
    return step_ns


def _document(host: str, end_ns: int, states: CoreStates, events: Sequence[StoredEvent]) -> dict[str, Any]:
    return {
        "host": host,
        "begin": iso_utc(states.begin_ns),
        "end": iso_utc(end_ns),
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
    step = states.step_ns // SECOND_NS
    each = "a second" if step == 1 else f"{step} s"
    yield screen.paint(screen.wrap(f"{host}, from {iso_utc(states.begin_ns)}, {each} a column"), "bold")
    worst = states.worst_first
    shown = sorted(worst if every else worst[:MOST_ROWS])
    for core in shown:
        yield f"{f'core {core}':>8} |{states.states[core]}|"
    if len(shown) < len(worst):
        left_out = len(worst) - len(shown)
        some = "1 quieter core is" if left_out == 1 else f"{left_out} quieter cores are"
        yield screen.wrap(f"{some} left out; --all shows them")
    used = set("".join(states.states[core] for core in shown))
    marks = {MISSING: "blank"}
    legend = [f"{marks.get(letter, letter)} {text}" for letter, text in LEGEND.items() if letter in used]
    yield screen.wrap("; ".join(legend))
    if events:
        yield ""
        yield event_lines(screen, events)
        yield screen.wrap(f"See one: {around_command(events[-1].id)}", hanging=2)
