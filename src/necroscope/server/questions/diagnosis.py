"""Why it happened: the newest symptom of a range that can be explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from necroscope.diagnosis.diagnose_range import NOTHING_TO_EXPLAIN, Explanation, explain, symptoms_in
from necroscope.diagnosis.read_around_event import accidents_between
from necroscope.findings.unit_held_back import sentence
from necroscope.server.questions.culprit import suspect_answer
from necroscope.server.questions.events import events_in, recorded_event
from necroscope.server.questions.explained import Explained, NotChecked, chain_link, plan_steps, ruled_out
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.selection import US_NS, Range
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import CORES
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import StoredEvent

TELLING = (CORES.id, KERNEL_LOG.id)  # without any of them, no symptom can be seen
MOST_TRIED = 8  # symptoms, the newest first, until one has counters around it
AROUND_NS = 1800 * 10**9  # 20 minutes on both sides of a symptom count, and a segment may last for ten
LAST = 3  # segments in which units are looked for that a failure keeps from starting


def ask_diagnosis(store: RecordedStore, span: Range) -> Explained:
    """What `necroscope diagnose` says of a range."""
    segments = store.recorded_in(span)
    damaged: list[Damage] = []
    symptoms = symptoms_in(events_in(store, span, damaged), load_thresholds(None))
    tried = (_explanation(store, segments, symptom, damaged) for symptom in symptoms[:MOST_TRIED])
    found = next((explanation for explanation in tried if explanation), None)
    if found:
        answer = _of_symptom(found)
    elif symptoms:
        answer = _without_counters(symptoms[0])
    else:
        answer = _without_symptom(segments, span, damaged)
    return replace(answer, damaged=store.damaged_in(span, damaged))


def _explanation(
    store: RecordedStore, segments: list[StoredSegment], symptom: StoredEvent, damaged: list[Damage]
) -> Explanation | None:
    """Why a symptom happened; kept until more is recorded of the time around it."""
    near = [s for s in segments if abs(s.begin_ns - symptom.utc_ns) < AROUND_NS]

    def explained() -> tuple[Explanation | None, list[Damage]]:
        unreadable: list[Damage] = []
        return explain(segments, symptom, load_thresholds(None), unreadable), unreadable

    key = (symptom.segment.host, symptom.id, *((s.folder, s.is_open, s.end_ns) for s in near))
    explanation, unreadable = store.explanations.get(key, explained)
    damaged += unreadable
    return explanation


def _of_symptom(found: Explanation) -> Explained:
    diagnosis, core = found.diagnosis, found.core
    culprit = diagnosis.culprit
    return Explained(
        verdict=diagnosis.verdict,
        level="trouble",
        symptom=recorded_event(found.symptom, core),
        chain=[chain_link(link, found) for link in diagnosis.chain],
        missing=list(diagnosis.missing),
        culprit=suspect_answer(culprit) if culprit else None,
        ruled_out=[ruled_out(rival, found) for rival in diagnosis.ruled_out],
        standing=[f"{rival.explanation}: {rival.why}" for rival in diagnosis.standing],
        not_checked=[NotChecked(row.source, row.reason, row.hint) for row in diagnosis.not_checked],
        plan=plan_steps(diagnosis),
        moment_begin_us=found.begin_ns // US_NS,
        moment_end_us=found.end_ns // US_NS,
        core=core,
        damaged=[],
    )


def _without_counters(symptom: StoredEvent) -> Explained:
    what = f"of the time around {symptom.id} there are no counters: why it happened is not known"
    return replace(NOTHING, verdict=what, level="unknown", symptom=recorded_event(symptom))


def _without_symptom(segments: Sequence[StoredSegment], span: Range, damaged: list[Damage]) -> Explained:
    inside = span.touched(segments)
    readable = [s for s in inside if s.folder not in {damage.folder for damage in damaged}]
    absent = absent_sources(readable)
    if not saw_anything(readable):
        what = "nothing could be checked: neither the kernel log nor the time of cores is recorded there"
        return replace(NOTHING, verdict=what, level="unknown", not_checked=absent)
    held_back = accidents_between(inside[-LAST:], span.time, damaged) or ()
    by_accident = "".join(f". By accident: {sentence(one)}" for one in held_back)
    verdict = f"{NOTHING_TO_EXPLAIN}{by_accident}"
    return replace(NOTHING, verdict=verdict, level="healthy", not_checked=absent)


NOTHING = Explained(
    verdict="",
    level="unknown",
    symptom=None,
    chain=[],
    missing=[],
    culprit=None,
    ruled_out=[],
    standing=[],
    not_checked=[],
    plan=[],
    moment_begin_us=None,
    moment_end_us=None,
    core=None,
    damaged=[],
)


def saw_anything(segments: Sequence[StoredSegment]) -> bool:
    """Whether symptoms could be seen at all. An open segment is taken to have what it is recorded for."""
    return any(s.is_open or any(_values(s, name) for name in TELLING) for s in segments)


def absent_sources(segments: Sequence[StoredSegment]) -> list[NotChecked]:
    """Sources that gave nothing in any sealed segment, and why."""
    sealed = [segment for segment in segments if not segment.is_open]
    reasons: dict[str, str] = {}
    for segment in sealed:
        for name, row in segment.description.sources.items():
            reasons[name] = row.reason
    given = {name for name in reasons if any(_values(segment, name) for segment in sealed)}
    return [NotChecked(name, reason, "") for name, reason in sorted(reasons.items()) if name not in given]


def _values(segment: StoredSegment, source: str) -> int:
    row = segment.description.sources.get(source)
    return row.readings - row.absent if row else 0
