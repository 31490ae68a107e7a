"""Why did it happen: the causal chain from root to symptom over a recorded range, with its evidence.

necroscope diagnose                     the last ten minutes there are
necroscope diagnose -b 03:00 -e 04:00
necroscope diagnose --around nic-reset-20260415T100211.250Z-1208
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from necroscope.cli.answer import Answer, note_damaged
from necroscope.cli.arguments import add_store
from necroscope.cli.events import read_events_of
from necroscope.cli.finding_text import accident_lines, diagnosis_lines
from necroscope.cli.screen import Screen
from necroscope.cli.selecting import Chosen, add_range, choose_range
from necroscope.cli.times import EventName, Moment, event_name
from necroscope.diagnosis.diagnose_range import EXPLAINED, NOTHING_TO_EXPLAIN, explain_each, symptoms_in
from necroscope.diagnosis.read_around_event import accidents_between
from necroscope.errors import CannotLookError, UsageError
from necroscope.model.accident import Accident
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.timestamp import iso_utc
from necroscope.signals.thresholds import Thresholds, load_thresholds
from necroscope.store.store import Store
from necroscope.store.stored_events import StoredEvent, find_event

MOST = 8  # symptoms of a range that are diagnosed, the newest first
AROUND_NS = 600 * 10**9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `diagnose` understands."""
    add_store(parser)
    add_range(parser)
    parser.add_argument("--around", type=event_name, metavar="EVENT_ID", help="this event only")
    parser.add_argument("--config", type=Path, help="a TOML file with thresholds")


def run(arguments: argparse.Namespace) -> Answer:
    """Find the symptoms, and follow each to its root."""
    thresholds = load_thresholds(arguments.config)
    if arguments.around:
        set_range_around(arguments)
    chosen = choose_range(arguments)
    events = read_events_of(chosen)
    wanted = wanted_symptoms(arguments.around, events, thresholds)
    diagnoses = diagnose_all(chosen, wanted[:MOST], thresholds)
    if wanted and not diagnoses:
        what = f"of the time around {wanted[0].id} there are no counters"
        raise CannotLookError(what, hint="necroscope timeline shows what there is")
    accidents = accidents_between(chosen.segments, chosen.time, chosen.damaged)
    begin, end = iso_utc(chosen.time.begin_ns), iso_utc(chosen.time.end_ns)
    body = {
        "host": chosen.host,
        "begin": begin,
        "end": end,
        "symptoms": len(wanted),
        "diagnosis": diagnoses[0] if diagnoses else None,
        "others": diagnoses[1:],
        "by_accident": accidents,
        "damaged": note_damaged(chosen.damaged),
    }
    head = f"{chosen.host}, from {begin} to {end}"
    return Answer(
        int(bool(diagnoses or accidents)),
        body,
        lambda screen: "\n".join(_text(screen, head, diagnoses, len(wanted), accidents)),
    )


def set_range_around(arguments: argparse.Namespace) -> None:
    """An event tells its own range, and the host it is of."""
    if arguments.begin or arguments.end:
        raise UsageError("--around and --begin or --end say two different things")
    segments = [s for s in Store(arguments.store).segments() if arguments.host in (None, s.host)]
    event = find_event(segments, arguments.around.id)
    arguments.host = event.segment.host
    arguments.begin = Moment(event.utc_ns - AROUND_NS)
    arguments.end = Moment(event.utc_ns + AROUND_NS)


def wanted_symptoms(
    around: EventName | None, events: Sequence[StoredEvent], thresholds: Thresholds
) -> list[StoredEvent]:
    """The symptoms to explain, the newest first."""
    if around:
        named = [stored for stored in events if stored.id == around.id]
        if any(stored.event.kind not in EXPLAINED for stored in named):
            raise UsageError(f"{around.id} is nothing to explain", hint=f"what is: {', '.join(EXPLAINED)}")
        return named
    return symptoms_in(events, thresholds)


def diagnose_all(chosen: Chosen, wanted: Sequence[StoredEvent], thresholds: Thresholds) -> list[Diagnosis]:
    """Why each of some symptoms happened; those without counters around them are left out."""
    return [one.diagnosis for one in explain_each(chosen.segments, wanted, thresholds, chosen.damaged)]


def _text(
    screen: Screen,
    head: str,
    diagnoses: Sequence[Diagnosis],
    symptoms: int,
    accidents: Sequence[Accident] | None,
) -> Iterator[str]:
    yield screen.paint(screen.wrap(head), "bold")
    if not diagnoses:
        yield screen.wrap(NOTHING_TO_EXPLAIN)
        yield from accident_lines(screen, accidents or ())
        if accidents is None:
            yield screen.wrap("whether a failure keeps an enabled unit from starting is not recorded")
        return
    yield from diagnosis_lines(screen, diagnoses[0])
    before = (screen.wrap(f"- {one.verdict} [{one.symptom}]", 2, 4) for one in diagnoses[1:])
    yield from screen.section("Before that", before)
    if symptoms > MOST:
        yield screen.wrap(f"{symptoms - MOST} more in this range; -b and -e choose a shorter one")
