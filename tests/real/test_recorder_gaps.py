"""A recording under load has no gap: not between samples, not between seconds, and none is lost."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from lab.faults.hogs import user_hog
from necroscope.store.store import StoredSegment
from tests.real.recorders import ask, recorder, require_all_open, require_tidy, segments_of, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
LOG = logging.getLogger(__name__)
JITTER_NS = 3_000_000  # a timer on a virtual machine under load


@pytest.fixture(autouse=True)
def load() -> Iterator[None]:
    """Both cores busy: an idle core without a tick takes no samples."""
    with user_hog(0), user_hog(1):
        yield


def per_core(segment: StoredSegment) -> dict[int, tuple[int, ...]]:
    """Samples of the clock, the first, the last, and the widest gap between two."""
    return {row[0]: row[1:] for row in segment.description.profile.per_core}


def perf_count(capture: Path) -> int:
    """How many samples of the clock perf itself finds in a file."""
    command = ["perf", "script", "-i", str(capture), "-F", "event,time"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return sum("cpu-clock" in line or "cycles" in line for line in lines)


@pytest.mark.parametrize(
    ("seconds", "rate"),
    [
        (17, 997),
        pytest.param(17, 97, marks=pytest.mark.servers),
        pytest.param(62, 97, marks=pytest.mark.long),
        pytest.param(62, 997, marks=pytest.mark.long),
    ],
)
def test_one_period_at_every_boundary_no_second_missing_no_sample_lost(
    tmp_path: Path, seconds: int, rate: int
) -> None:
    store = tmp_path / "store"
    words = ("-d", f"{seconds}s", "--segment", "5s", "--rate", str(rate), "--keep-perf-data")
    with recorder(store, *words) as one:
        code, body = one.wait()
    assert (code, body["findings"], one.said().count("capture-gap")) == (0, [], 0)
    segments = segments_of(store)
    if not segments[-1].has_profile:  # it was just full when the time was up
        assert segments[-1].end_ns - segments[-1].begin_ns < 10**9
    sampled = segments if segments[-1].has_profile else segments[:-1]
    assert len(sampled) >= seconds // 5
    period_ns = 10**9 // rate
    gaps = []
    for before, after in pairwise(sampled):
        ended, began = per_core(before), per_core(after)
        assert ended.keys() == began.keys() == {0, 1}
        gaps += [began[core][1] - ended[core][2] for core in ended]
    inner = max(row[3] for segment in segments for row in per_core(segment).values())
    milliseconds = [round(gap / 1e6, 2) for gap in gaps]
    LOG.info(
        "a period is %.2f ms; at the boundaries %s, within at most %.2f",
        *(period_ns / 1e6, milliseconds, inner / 1e6),
    )
    assert min(gaps) > 0 and max(gaps) <= 2 * period_ns + JITTER_NS

    # The second in which it began was not recorded whole.
    begin = -(-segments[0].begin_ns // 10**9)
    shown = ask("timeline", "--store", str(store), "-b", str(begin))
    assert (shown["missing"], [row["core"] for row in shown["cores"]]) == (0, [0, 1])
    assert shown["columns"] >= seconds - 1

    counts = [
        (sum(row[0] for row in per_core(segment).values()), perf_count(segment.capture))
        for segment in segments
    ]
    assert [ours for ours, _ in counts] == [theirs for _, theirs in counts]
    assert sum(ours for ours, _ in counts) > 2 * rate * (seconds - 1) * 0.95
    require_all_open(store)
    require_tidy(store)
