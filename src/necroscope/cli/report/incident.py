"""What a report is about: a range of one host's time, what happened in it, why, and what was done."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from necroscope.cli.diagnose import MOST, diagnose_all, set_range_around, wanted_symptoms
from necroscope.cli.events import read_events_of
from necroscope.cli.selecting import Chosen, choose_range
from necroscope.cli.times import Moment
from necroscope.diagnosis.diagnose_range import EXPLAINED
from necroscope.errors import NecroscopeError, UsageError
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.event import Event
from necroscope.model.fix import Fix
from necroscope.remedies.apply.fixes import find_fix, read_fixes
from necroscope.signals.thresholds import Thresholds, load_thresholds
from necroscope.store.store import Damage
from necroscope.store.stored_events import StoredEvent

AROUND_NS = 600 * 10**9
UNEXPLAINED = "unexplained"
LEAKED = "cgroups leaked by "  # how the evidence begins that tells the size of a leak


@dataclass(frozen=True, slots=True)
class Incident:
    """All that the parts of a report are made of."""

    store: Path
    chosen: Chosen
    thresholds: Thresholds
    events: tuple[StoredEvent, ...]
    symptom: StoredEvent | None  # the one that is explained first
    diagnoses: tuple[Diagnosis, ...]  # the one that the report is about first
    fixes: tuple[Fix, ...]  # that were begun in the range, or the one that was asked for
    known_fixes: tuple[Fix, ...]  # all of the store
    why_no_fixes: str  # where their records could not be read

    @property
    def host(self) -> str:
        """Whose time it is."""
        return self.chosen.host

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The one that the report is about."""
        return self.diagnoses[0] if self.diagnoses else None

    @property
    def damaged(self) -> list[Damage]:
        """Segments that could not be read; parts add to it."""
        return self.chosen.damaged


def gather(arguments: argparse.Namespace) -> Incident:
    """What the words mean. A fix or an event that is named tells its own range."""
    named = find_fix(arguments.store, arguments.fix) if arguments.fix else None
    if arguments.around:
        set_range_around(arguments)
    elif named and not (arguments.begin or arguments.end):
        _set_range_of(arguments, named)
    chosen = choose_range(arguments)
    if named and named.plan.host != chosen.host:
        raise UsageError(f"{named.id} was made on {named.plan.host}, and the range is of {chosen.host}")
    thresholds = load_thresholds(arguments.config)
    events = read_events_of(chosen)
    # Around what is no symptom itself, such as a mark, the gravest that is there is explained.
    around = arguments.around if arguments.around and arguments.around.kind in EXPLAINED else None
    symptoms = wanted_symptoms(around, events, thresholds)
    known, unread = _known_fixes(arguments.store)
    inside = [fix for fix in known if fix.plan.host == chosen.host and _is_in(fix, chosen)]
    fixes = (named,) if named else tuple(inside)
    found = diagnose_all(chosen, each_subject_first(symptoms)[:MOST], thresholds)
    diagnoses = best_first(found, symptoms, fixes)
    first = [one for one in symptoms if diagnoses and one.id == diagnoses[0].symptom]
    return Incident(
        store=arguments.store,
        chosen=chosen,
        thresholds=thresholds,
        events=tuple(events),
        symptom=next(iter([*first, *symptoms]), None),
        diagnoses=tuple(diagnoses),
        fixes=fixes,
        known_fixes=known,
        why_no_fixes=unread,
    )


def _set_range_of(arguments: argparse.Namespace, fix: Fix) -> None:
    arguments.host = fix.plan.host
    arguments.begin = Moment(fix.begun_ns - AROUND_NS)
    arguments.end = Moment((fix.ended_ns or fix.begun_ns) + AROUND_NS)


def _known_fixes(store: Path) -> tuple[tuple[Fix, ...], str]:
    """All fixes of the store, and why others could not be read."""
    try:
        known = read_fixes(store)
    except NecroscopeError as error:
        return (), error.what
    return known.fixes, "; ".join(one.error.what for one in known.damaged)


def _is_in(fix: Fix, chosen: Chosen) -> bool:
    return chosen.time.contains(fix.begun_ns)


def each_subject_first(symptoms: Sequence[StoredEvent]) -> list[StoredEvent]:
    """The newest of every unit, device or core, those with most symptoms first; then all others.

    Of many only some are diagnosed: what came last must not hide the rest.
    """
    of_subject: dict[tuple[str, int | None], list[StoredEvent]] = {}
    for one in symptoms:  # the newest comes first
        of_subject.setdefault(_subject(one.event), []).append(one)
    first = [some[0] for some in sorted(of_subject.values(), key=len, reverse=True)]
    return [*first, *(one for one in symptoms if one not in first)]


def best_first(
    diagnoses: Iterable[Diagnosis], symptoms: Sequence[StoredEvent], fixes: Sequence[Fix]
) -> list[Diagnosis]:
    """Those that are explained, of them what was treated, of them the largest, of them the newest."""
    events = {one.id: one for one in symptoms}
    treated = {each.subject for fix in fixes for each in fix.plan.treatments if each.subject}

    def rank(diagnosis: Diagnosis) -> tuple[int, bool, float, int]:
        stored = events[diagnosis.symptom]
        subjects = {each.subject for each in diagnosis.treatments} | {stored.event.unit}
        size = _size(stored.event, diagnosis)
        return _explained(diagnosis), bool(subjects & treated), size, stored.utc_ns

    return sorted(diagnoses, key=rank, reverse=True)


def _subject(event: Event) -> tuple[str, int | None]:
    return event.device or event.unit or event.process, event.core


def _explained(diagnosis: Diagnosis) -> int:
    """2: by a chain, 1: by a conclusion alone, 0: not at all."""
    return 2 if diagnosis.chain else int(diagnosis.conclusion != UNEXPLAINED)


def _size(event: Event, diagnosis: Diagnosis) -> float:
    """Seconds of a stall, cgroups of a leak; 0 where it is not known. All symptoms are of like kinds."""
    evidence = (one for link in diagnosis.chain for one in link.evidence)
    leaked = [float(one.value) for one in evidence if one.name.startswith(LEAKED)]
    if event.kind == "cgroup-leak" and leaked:
        return max(leaked)
    return event.stall_seconds or event.seconds or 0.0
