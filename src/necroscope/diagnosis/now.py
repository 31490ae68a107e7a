"""Why this node is in trouble now: from a recorder's store where there is one, else from a short look."""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.diagnosis.diagnose import diagnose
from necroscope.diagnosis.recorded import recorded_scene
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import symptom_events
from necroscope.findings.thresholds import Thresholds
from necroscope.findings.watch import Watch
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.event import Event
from necroscope.recording.segment import Segment
from necroscope.recording.store import Damage, StoredSegment
from necroscope.recording.stored_events import events_between

HOUR_NS = 3600 * 10**9
NO_SAMPLES = "nothing samples the cores while doctor looks; necroscope record does all the time"


def diagnose_recorded(
    segments: Sequence[StoredSegment], now: Segment, thresholds: Thresholds, damaged: list[Damage]
) -> Diagnosis | None:
    """Why the newest trouble that a recorder of this boot saw happened, if it is not long ago."""
    own = [s for s in segments if s.boot_id and s.boot_id == now.labels.boot_id]
    end_ns = now.end_ns + now.anchor.offset_ns
    recent_ns = int(thresholds["nic-reset.critical_hours"] * HOUR_NS)
    events = events_between(own, end_ns - recent_ns, end_ns, damaged)
    by_event = {stored.event: stored for stored in events}
    for event in symptom_events(list(by_event))[:1]:
        if scene := recorded_scene(own, by_event[event], thresholds, damaged):
            return diagnose(scene, event)
    return None


def diagnose_look(look: Segment, thresholds: Thresholds) -> Diagnosis | None:
    """Why what happened during a look happened; what is older was not looked at."""
    events = _events_of(look, thresholds)
    scene = Scene(look, tuple(events), thresholds, why_no_samples=NO_SAMPLES)
    return next((diagnose(scene, event) for event in symptom_events(events)), None)


def _events_of(look: Segment, thresholds: Thresholds) -> list[Event]:
    """What a recorder would have told of the same moments; of one that lasts, what it told last."""
    watch = Watch(thresholds)
    told = [event for moment in look.moments for event in watch(moment) if event.time_ns >= look.begin_ns]
    return list({(event.kind, event.time_ns, event.sequence): event for event in told}.values())
