"""A segment in one row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from necroscope.errors import StoreError
from necroscope.fleet.ship.parts import ToldEvent
from necroscope.fleet.ship.summary import summarise
from necroscope.model.fleet.segment_summary import SegmentSummary
from necroscope.model.reading import Absence, Reading
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import CORES
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.sources.reclaim import RECLAIM, open_reclaim
from necroscope.sources.source import Source
from necroscope.store.store import StoredSegment
from tests.segments import core_seconds
from tests.stored import BOOT_ID, UTC_NS, event_of, moment_of, sealed_segment, seconds_of


def summary_of(segment: StoredSegment) -> tuple[SegmentSummary, list[ToldEvent]]:
    thresholds = load_thresholds(Path("/dev/null"))
    return summarise(segment, "node-17", "f" * 64, thresholds, is_clock_right=True)


def test_what_is_known_of_a_segment(tmp_path: Path) -> None:
    moments = seconds_of(["system"] * 4 + ["idle"] * 2, ["idle"] * 5 + ["system"])
    segment = sealed_segment(tmp_path, moments, [event_of("nic-reset", 1, device="eth0", queue=3)])
    summary, events = summary_of(segment)
    assert (summary.host, summary.segment, summary.boot_id) == ("node-17", segment.folder.name, BOOT_ID)
    assert (summary.begin_us, summary.end_us) == (UTC_NS // 1000, UTC_NS // 1000 + 6_000_000)
    assert summary.recorded_us == 6_000_000
    assert summary.saturated_core_us == 5_000_000, "four seconds of one core and one of the other"
    assert (summary.cores, summary.samples, summary.synchronised) == (2, 0, True)
    assert (summary.zombies, summary.tracked, summary.in_use, summary.wall_level) == (None,) * 4
    assert (summary.facts, summary.events) == ("f" * 64, {"nic-reset": 1})
    assert [(one.time_us, one.event.device, one.event.queue) for one in events] == [
        (UTC_NS // 1000 + 1_000_000, "eth0", 3)
    ]


def test_a_hole_is_not_counted_as_recorded(tmp_path: Path) -> None:
    cores = core_seconds(["idle"] * 8)
    moments = [moment_of(second, {CORES: cores[second]}) for second in (0, 1, 2, 7, 8)]
    summary, _ = summary_of(sealed_segment(tmp_path, moments))
    assert (summary.recorded_us, summary.end_us - summary.begin_us) == (3_000_000, 8_000_000)


def test_zombies_are_those_of_the_last_reading(tmp_path: Path) -> None:
    readings = [MemoryCgroups(HierarchyCount("m", 1, 100 + n, 90, 10 + n, ""), (), None) for n in range(3)]
    moments = [moment_of(n, {MEMORY_CGROUPS: readings[n]}) for n in range(3)]
    summary, _ = summary_of(sealed_segment(tmp_path, moments))
    assert (summary.tracked, summary.in_use, summary.zombies) == (102, 90, 12)
    assert summary.wall_level is None, "the machine's memory is not known"
    assert summary.saturated_core_us is None, "the cores were not read, which is not zero"


def test_what_was_not_permitted_is_not_zero(tmp_path: Path) -> None:
    refused: Reading[MemoryCgroups] = Reading(absence=Absence.NOT_PERMITTED)
    summary, _ = summary_of(
        sealed_segment(tmp_path, [moment_of(n, {MEMORY_CGROUPS: refused}) for n in (0, 1)])
    )
    assert (summary.zombies, summary.tracked, summary.recorded_us) == (None, None, 1_000_000)


@pytest.mark.parametrize("name", ["cores", "readings", "memory-cgroups"])
def test_a_damaged_table_is_told_and_not_passed_as_nothing(tmp_path: Path, name: str) -> None:
    count = MemoryCgroups(HierarchyCount("m", 1, 5, 5, 0, ""), (), None)
    values: dict[Source[Any], Any] = {CORES: core_seconds(["idle"])[0], MEMORY_CGROUPS: count}
    segment = sealed_segment(tmp_path, [moment_of(n, values) for n in range(3)])
    path = segment.folder / "counters" / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(StoreError, match=name):
        summary_of(segment)
    path.unlink()
    with pytest.raises(StoreError, match="missing"):
        summary_of(segment)


def test_the_same_segment_gives_the_same_row(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, seconds_of(["system"] * 5), [event_of("oom-kill", 2)])
    assert summary_of(segment) == summary_of(segment)


def test_the_wall_is_where_zombies_take_too_much_of_the_memory(tmp_path: Path) -> None:
    count = MemoryCgroups(HierarchyCount("memory", 2, 1000, 100, 900, ""), (), None)
    host = Host(Path(__file__).parents[2] / "hosts/debian-6.1-v2")
    memory = open_reclaim(host)()
    assert memory.value
    segment = sealed_segment(
        tmp_path, [moment_of(n, {MEMORY_CGROUPS: count, RECLAIM: memory}) for n in (0, 1)]
    )
    labels = replace(segment.description.host, kernel="6.1.0", cores_possible=2)
    described = replace(segment, description=replace(segment.description, host=labels))
    summary, _ = summary_of(described)
    assert summary.wall_level
    assert summary.wall_level > 100, "those in use, and zombies for a share of the memory"
