"""Several selections together have the samples of each, wherever in a long recording they lie."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.profiles.window import Selection, Window, window, windows
from necroscope.store.store import StoredSegment
from tests.diagnosis.sampled_seconds import Work, sampled_segment
from tests.stored import SECOND_NS, UTC_NS

HOUR_NS = 3600 * SECOND_NS


def work(core: int, second: int) -> Work:
    return {"python": 0.5, f"kubelet: read > walk_{second}": 0.02 * second}


@pytest.fixture
def segments(tmp_path: Path) -> list[StoredSegment]:
    return [sampled_segment(tmp_path, work, seconds=range(n, n + 5)) for n in (0, 5, 10, 15)]


def second(number: int) -> Selection:
    begin_ns = UTC_NS + number * SECOND_NS
    return Selection(begin_ns, begin_ns + SECOND_NS)


def folded(found: Window) -> dict[tuple[str, ...], int]:
    return {tuple(labels): count for labels, count in found.stacks.folded()}


@pytest.mark.parametrize("numbers", [(6,), (1, 3), (4, 5), (0, 7, 12, 19), (9, 10)])
def test_the_samples_of_each(segments: list[StoredSegment], numbers: tuple[int, ...]) -> None:
    together = windows(segments, [second(n) for n in numbers])
    apart = [window(segments, second(n)) for n in numbers]
    assert (together.samples, together.idle) == (sum(w.samples for w in apart), sum(w.idle for w in apart))
    assert together.seconds == pytest.approx(len(numbers))
    names = {label for stack in folded(together) for label in stack if label.startswith("walk_")}
    assert names == {f"walk_{n}" for n in numbers if n}


def test_of_none_there_is_nothing(segments: list[StoredSegment]) -> None:
    assert windows(segments, []).samples == 0


def test_each_by_its_own_clock(segments: list[StoredSegment]) -> None:
    """The wall clock was set an hour forward in between: one is told by the clock of the recording."""
    *early, late = segments
    moved = replace(
        late,
        begin_ns=late.begin_ns + HOUR_NS,
        end_ns=late.end_ns + HOUR_NS,
        offset_ns=late.offset_ns + HOUR_NS,
    )
    by_recording = replace(second(17), boot_id=late.boot_id, offset_ns=late.offset_ns)
    found = windows([*early, moved], [second(2), by_recording])
    names = {label for stack in folded(found) for label in stack}
    assert {"walk_2", "walk_17"} <= names and found.seconds == pytest.approx(2)
