"""Why this node is in trouble now: from a recorder's store where there is one, else from a short look."""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.diagnosis.diagnose import diagnose
from necroscope.diagnosis.recorded import recorded_scene
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import KINDS, symptom_events
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.event import Event
from necroscope.model.time_range import TimeRange
from necroscope.signals.thresholds import Thresholds
from necroscope.signals.watch import Watch
from necroscope.store.segment import Segment
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import StoredEvent, events_between

HOUR_NS = 3600 * 10**9
SAME_NS = 2 * 10**9  # a recorder and a look do not put a line at quite the same time
NO_SAMPLES = "nothing samples the cores while doctor looks; necroscope record does all the time"


def diagnose_now(
    look: Segment, recorded: Sequence[StoredSegment], thresholds: Thresholds, damaged: list[Damage]
) -> Diagnosis | None:
    """Why the newest trouble happened: of the look itself, or of what a recorder of this boot has.

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
    kinds = [kind for group in KINDS for kind in group]
    if kinds.index(seen.kind) != kinds.index(stored.kind):
        return kinds.index(seen.kind) < kinds.index(stored.kind)
    return seen.time_ns > stored.time_ns + SAME_NS


def _events_of(look: Segment, thresholds: Thresholds) -> list[Event]:
    """What a recorder would have told of the same moments; of one that lasts, what it told last."""
    watch = Watch(thresholds)
    told = [event for moment in look.moments for event in watch(moment) if event.time_ns >= look.begin_ns]
    return list({(event.kind, event.time_ns, event.sequence): event for event in told}.values())
