"""Which symptom a report is about, where there are several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from necroscope.model.diagnosis import Diagnosis
from necroscope.model.event import Event
from necroscope.model.fix import Fix
from necroscope.store.stored_events import StoredEvent

UNEXPLAINED = "unexplained"
LEAKED = "cgroups leaked by "  # how the evidence begins that tells the size of a leak


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
