"""What a cgroup lost to its quota is subtracted once; the detector and verify read the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.findings.cpu_throttling import cpu_throttling
from necroscope.model.time_range import TimeRange
from necroscope.remedies.verify import quantities
from necroscope.remedies.verify.observe import Recording, observe
from necroscope.signals.thresholds import load_thresholds
from necroscope.signals.throttling import Throttled, ThrottledTime, over
from necroscope.sources.throttling import THROTTLING, CgroupThrottling, Throttling
from necroscope.store.read_range import read_stretch
from tests.segments import evidence, look, segment_of
from tests.stored import moment_of, sealed_segment


def counters(**periods: int) -> Throttling:
    """Cgroups that were stopped in half of their periods, 50 ms each time."""
    return tuple(CgroupThrottling(f"/{name}", n, n // 2, n / 40) for name, n in periods.items())


# One goes on, one is made again and begins at 0, one comes and one goes.
READINGS = [
    counters(a=100, b=400, gone=7),
    counters(a=140, b=20, gone=99),
    counters(a=200, b=60, late=900),
    counters(a=300, b=60, late=920),
]
LOST = {"/a": 200, "/b": 60, "/late": 20}


def test_what_every_cgroup_lost_in_a_segment() -> None:
    lost = over(segment_of({THROTTLING: READINGS}))
    assert {path: one.periods for path, one in lost.items()} == LOST
    assert lost["/a"] == Throttled("/a", 200, 100, 5.0)
    assert lost["/a"].ratio == 0.5


def test_live_and_recorded_agree() -> None:
    segment, live = segment_of({THROTTLING: READINGS}), ThrottledTime()
    assert [live.feed(sample) for sample in segment.moments][-1] == over(segment)


def test_the_detector_and_verify_agree(tmp_path: Path) -> None:
    stored = sealed_segment(
        tmp_path, [moment_of(60 * n, {THROTTLING: reading}) for n, reading in enumerate(READINGS)]
    )
    (segment,) = read_stretch([stored], TimeRange(stored.begin_ns, stored.end_ns + 1))
    (finding,) = look(cpu_throttling, segment)
    facts = evidence(finding)
    recording = Recording([stored], load_thresholds(None), [])
    window = TimeRange(stored.begin_ns, stored.end_ns)
    for path, periods in LOST.items():
        seen = observe(quantities.THROTTLING, path, recording, window)
        assert facts[f"time lost by {path}"] == pytest.approx(periods / 40) == seen.amount
