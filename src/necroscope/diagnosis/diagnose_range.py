"""What there is to explain, in a recorded range or on this node now, and its diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from necroscope.diagnosis.diagnose import conclude, diagnose
from necroscope.diagnosis.observe import observe
from necroscope.diagnosis.read_around_event import recorded_scene
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.starvation import Starvation
from necroscope.diagnosis.symptom import KINDS, symptom_events
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.event import Event
from necroscope.model.time_range import TimeRange
from necroscope.signals.thresholds import Thresholds
from necroscope.signals.watch import Watch
from necroscope.store.segment import Segment
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import StoredEvent, events_between

EXPLAINED = [kind for kinds in KINDS for kind in kinds]
NOTHING_TO_EXPLAIN = "nothing to explain: no NIC reset, no core in the kernel for seconds, no leak"
HOUR_NS = 3600 * 10**9
SAME_NS = 2 * 10**9  # a recorder and a look do not put a line at quite the same time
NO_SAMPLES = "nothing samples the cores while doctor looks; necroscope record does all the time"


@dataclass(frozen=True, slots=True)
class Explanation(TimeRange):
    """A symptom and why it happened; its seconds in UTC, and the core where it was felt, if it is known."""

    symptom: StoredEvent
    diagnosis: Diagnosis
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
        observed.symptom.begin_ns + offset_ns,
        observed.symptom.end_ns + offset_ns,
        stored,
        conclude(scene, observed),
        _core(stored.event, observed.starvation),
    )


def _core(event: Event, found: Starvation) -> int | None:
    """The core that the event names, or the likeliest of those that serve its queue."""
    if event.core is None and found.core and (found.is_certain or found.queue):
        return found.core.core
    return event.core


def diagnose_now(
    look: Segment, recorded: Sequence[StoredSegment], thresholds: Thresholds, damaged: list[Damage]
) -> Diagnosis | None:
    """Why this node is in trouble now: by a short look, or by what a recorder of this boot has.

    What a recorder has comes with samples and minutes of history, and is preferred where both saw the same.
    """
    events = _events_of(look, thresholds)
    seen = next(iter(symptom_events(events, thresholds)), None)
    stored = _newest_stored(look, recorded, thresholds, damaged)
    if stored and not (seen and _is_later(seen, stored.event)):
        scene = recorded_scene(recorded, stored, thresholds, damaged)
        if scene:
            return diagnose(scene, stored.event)
    if seen:
        return diagnose(Scene(look, tuple(events), thresholds, why_no_samples=NO_SAMPLES), seen)
    return None


def _newest_stored(
    look: Segment, recorded: Sequence[StoredSegment], thresholds: Thresholds, damaged: list[Damage]
) -> StoredEvent | None:
    own = [s for s in recorded if s.boot_id and s.boot_id == look.labels.boot_id]
    end_ns = look.end_ns + look.anchor.offset_ns
    recent_ns = int(thresholds["nic-reset.critical_hours"] * HOUR_NS)
    by_event = {one.event: one for one in events_between(own, TimeRange(end_ns - recent_ns, end_ns), damaged)}
    return next((by_event[event] for event in symptom_events(list(by_event), thresholds)), None)


def _is_later(seen: Event, stored: Event) -> bool:
    """Whether what we saw is graver or newer than what is stored, and not the same."""
    seen_rank, stored_rank = EXPLAINED.index(seen.kind), EXPLAINED.index(stored.kind)
    if seen_rank != stored_rank:
        return seen_rank < stored_rank
    return seen.time_ns > stored.time_ns + SAME_NS


def _events_of(look: Segment, thresholds: Thresholds) -> list[Event]:
    """Return what a recorder would write of the same samples; of an event that lasts, its last state."""
    watch = Watch(thresholds)
    events = [event for moment in look.moments for event in watch(moment) if event.time_ns >= look.begin_ns]
    return list({(event.kind, event.time_ns, event.sequence): event for event in events}.values())
