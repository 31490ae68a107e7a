"""What there is to explain in a recorded range, and its diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from necroscope.diagnosis.diagnose import diagnose
from necroscope.diagnosis.facts.starvation import Starvation, starvation
from necroscope.diagnosis.recorded import recorded_scene
from necroscope.diagnosis.symptom import KINDS, symptom_events, symptom_of
from necroscope.findings.thresholds import Thresholds
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.event import Event
from necroscope.recording.store import Damage, StoredSegment
from necroscope.recording.stored_events import StoredEvent

EXPLAINED = [kind for kinds in KINDS for kind in kinds]
NOTHING_TO_EXPLAIN = "nothing to explain: no NIC reset, no core in the kernel for seconds, no leak"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A symptom and why it happened; its seconds in UTC, and the core where it was felt, if it is known."""

    symptom: StoredEvent
    diagnosis: Diagnosis
    begin_ns: int
    end_ns: int
    core: int | None


def symptoms_in(events: Sequence[StoredEvent]) -> list[StoredEvent]:
    """The events that are to be explained, the newest first."""
    by_event = {stored.event: stored for stored in events}
    return [by_event[event] for event in symptom_events([stored.event for stored in events])]


def explain_each(
    segments: Sequence[StoredSegment],
    symptoms: Sequence[StoredEvent],
    thresholds: Thresholds,
    damaged: list[Damage],
) -> Iterator[Explanation]:
    """Why each of some symptoms happened; those without counters around them are left out."""
    for stored in symptoms:
        scene = recorded_scene(segments, stored, thresholds, damaged)
        if scene is None:
            continue
        symptom, offset_ns = symptom_of(scene, stored.event), stored.segment.offset_ns
        yield Explanation(
            stored,
            diagnose(scene, stored.event),
            symptom.begin_ns + offset_ns,
            symptom.end_ns + offset_ns,
            _core(stored.event, starvation(scene, symptom)),
        )


def _core(event: Event, found: Starvation) -> int | None:
    """The core that the event names, or the likeliest of those that serve its queue."""
    if event.core is None and found.core and (found.is_certain or found.queue):
        return found.core.core
    return event.core
