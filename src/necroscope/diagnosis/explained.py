"""What there is to explain in a recorded range, and its diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from necroscope.diagnosis.diagnose import conclude
from necroscope.diagnosis.facts.observe import observe
from necroscope.diagnosis.facts.starvation import Starvation
from necroscope.diagnosis.recorded import recorded_scene
from necroscope.diagnosis.symptom import KINDS, symptom_events
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.event import Event
from necroscope.signals.thresholds import Thresholds
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import StoredEvent

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


def symptoms_in(events: Sequence[StoredEvent], thresholds: Thresholds) -> list[StoredEvent]:
    """The events that are to be explained, the newest first."""
    by_event = {stored.event: stored for stored in events}
    return [by_event[event] for event in symptom_events(list(by_event), thresholds)]


def explain_each(
    segments: Sequence[StoredSegment],
    symptoms: Sequence[StoredEvent],
    thresholds: Thresholds,
    damaged: list[Damage],
) -> Iterator[Explanation]:
    """Why each of some symptoms happened; those without counters around them are left out."""
    each = (explain(segments, stored, thresholds, damaged) for stored in symptoms)
    return (explanation for explanation in each if explanation)


def explain(
    segments: Sequence[StoredSegment], stored: StoredEvent, thresholds: Thresholds, damaged: list[Damage]
) -> Explanation | None:
    """Why a symptom happened; None where there are no counters around it."""
    scene = recorded_scene(segments, stored, thresholds, damaged)
    if scene is None:
        return None
    observed, offset_ns = observe(scene, stored.event), stored.segment.offset_ns
    return Explanation(
        stored,
        conclude(scene, observed),
        observed.symptom.begin_ns + offset_ns,
        observed.symptom.end_ns + offset_ns,
        _core(stored.event, observed.starvation),
    )


def _core(event: Event, found: Starvation) -> int | None:
    """The core that the event names, or the likeliest of those that serve its queue."""
    if event.core is None and found.core and (found.is_certain or found.queue):
        return found.core.core
    return event.core
