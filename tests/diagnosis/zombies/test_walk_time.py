"""The core time of walks over memory cgroups, from a capture of known content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.cli.main import main
from necroscope.diagnosis.zombies.walk_time import WalkTime, walk_time
from necroscope.model.time_range import TimeRange
from necroscope.store.store import Store, StoredSegment

HERTZ, SECONDS = 10, 20
ALWAYS = TimeRange(0, 2**62)
Make = Callable[..., StoredSegment]


def sample(second: float, *functions: str) -> str:
    """One sample, the innermost function first."""
    frames = "".join(
        f"\tffffffff8120{n:04x} {name}+0x10 ([kernel.kallsyms])\n" for n, name in enumerate(functions)
    )
    return f"kubelet   812/830   [001] {5000 + second:.6f}:   10101010 cpu-clock:\n{frames}\n"


def commanded(segment: StoredSegment, command: tuple[str, ...] | None) -> StoredSegment:
    """A segment whose samples a command of perf took."""
    profile = replace(segment.description.profile, command=command)
    return replace(segment, description=replace(segment.description, profile=profile))


@pytest.fixture
def make(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Make:
    def build(*stacks: tuple[str, ...]) -> StoredSegment:
        text = "".join(sample(n / HERTZ, *stacks[n % len(stacks)]) for n in range(HERTZ * SECONDS))
        (tmp_path / "capture.txt").write_text(text)
        assert main(["import", str(tmp_path / "capture.txt"), "--store", str(tmp_path / "store")]) == 0
        capsys.readouterr()
        (segment,) = Store(tmp_path / "store").segments()
        return commanded(segment, ("perf", "record", "-F", str(HERTZ)))

    return build


def test_half_of_a_core_is_half_an_hour_of_an_hour(make: Make) -> None:
    walking = ("mem_cgroup_iter", "mem_cgroup_nr_lru_pages", "memcg_numa_stat_show", "seq_read")
    segment = make(walking, ("clear_page_erms", "do_anonymous_page"))
    found = walk_time([segment], ALWAYS)
    assert isinstance(found, WalkTime)
    ((walk, taken),) = found.per_hour
    assert (walk.id, walk.zombies) == ("numa-stat", True)
    assert taken == pytest.approx(1800, rel=0.02)
    assert found.samples == pytest.approx(HERTZ * SECONDS, abs=2)


def test_work_on_pages_is_not_counted_as_walking(make: Make) -> None:
    segment = make(("shrink_folio_list", "shrink_lruvec", "shrink_node", "kswapd"))
    found = walk_time([segment], ALWAYS)
    assert isinstance(found, WalkTime) and found.per_hour == ()


def test_a_capture_without_its_command_does_not_tell(make: Make) -> None:
    segment = make(("mem_cgroup_iter",))
    silent = commanded(segment, None)
    assert "sampling rate" in str(walk_time([silent], ALWAYS))


def test_without_samples_the_reason_is_said() -> None:
    assert "no samples" in str(walk_time([], ALWAYS))
