"""Pages that waiting tasks scanned are subtracted once; detector, diagnosis and verify read the same."""

from __future__ import annotations

from pathlib import Path

from necroscope.diagnosis.observe import memory_facts
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.findings.reclaim_pressure import reclaim_pressure
from necroscope.model.time_range import TimeRange
from necroscope.remedies.verify import quantities
from necroscope.remedies.verify.observe import Recording, observe
from necroscope.signals.reclaim import Reclaims, over
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.reclaim import RECLAIM, Reclaim
from necroscope.store.read_range import read_stretch
from tests.segments import evidence, look, segment_of
from tests.stored import event_of, moment_of, sealed_segment

THRESHOLDS = load_thresholds(None)
PAGES = (0, 500, 5_500, 5_500, 3_000, 4_000)  # the counter steps back once


def reading(pages: int, compacted: int | None = None) -> Reclaim:
    return Reclaim(10 * pages, pages, 0, 0, pages // 100, 0, 1 << 30, 1 << 34, compacted)


def test_every_interval_has_what_was_counted_in_it() -> None:
    found = over(segment_of({RECLAIM: [reading(pages) for pages in PAGES]}))
    assert [one.pages_per_second for one in found] == [500, 5_000, 0, 0, 1_000]
    assert [one.per_second(one.scanned_by_kswapd) for one in found] == [5_000, 50_000, 0, 0, 10_000]
    assert [one.allocation_stalls for one in found] == [5, 50, 0, 0, 10]


def test_a_kernel_that_does_not_count_compaction() -> None:
    one, other = over(segment_of({RECLAIM: [reading(0, 3), reading(0, 10), reading(0)]}))
    assert (one.compaction_stalls, other.compaction_stalls) == (7, None)


def test_live_and_recorded_agree() -> None:
    segment, live = segment_of({RECLAIM: [reading(pages) for pages in PAGES]}), Reclaims()
    assert [one for sample in segment.moments if (one := live.feed(sample))] == over(segment)


def test_detector_diagnosis_and_verify_agree(tmp_path: Path) -> None:
    moments = [moment_of(second, {RECLAIM: reading(pages)}) for second, pages in enumerate(PAGES)]
    stored = sealed_segment(tmp_path, moments)
    (segment,) = read_stretch([stored], TimeRange(stored.begin_ns, stored.end_ns + 1))
    (finding,) = look(reclaim_pressure, segment)
    assert evidence(finding)["scanned by waiting tasks in the worst second"] == 5_000
    symptom = Symptom(segment.begin_ns, segment.end_ns, event_of("nic-reset", 5))
    pressure = memory_facts(Scene(segment, (), THRESHOLDS), symptom)["memory-pressure"]
    assert pressure.holds
    assert {one.name: one.value for one in pressure.evidence}["pages scanned by waiting tasks"] == 5_000
    window = TimeRange(stored.begin_ns, stored.end_ns)
    spans = observe(quantities.RECLAIM, "", Recording([stored], THRESHOLDS, []), window)
    assert max(span.amount / span.seconds for span in spans.spans) == 5_000
    assert spans.amount == sum(one.scanned_directly for one in over(segment)) == 6_500
