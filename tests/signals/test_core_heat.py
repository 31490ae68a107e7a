"""How full every core was in every second."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from necroscope import _native
from necroscope.errors import StoreError
from necroscope.model.reading import Absence, Reading
from necroscope.signals.core_heat import UNKNOWN, CoreHeat, Files, core_heat
from necroscope.sources.cores import CORES
from necroscope.store.store import Store
from tests.segments import BEGIN_NS
from tests.stored import (
    OFFSET_NS,
    SECOND_NS,
    UTC_NS,
    anchor_at,
    open_segment,
    sealed_segment,
    seconds_of,
)

both_kinds = pytest.mark.parametrize("make", [open_segment, sealed_segment], ids=["open", "sealed"])


def heat(root: Path, begin: float = 0, end: float = 6, step: float = 1, **more: Any) -> CoreHeat:
    """The heat of all that is stored, between two times in seconds after UTC_NS."""
    begin_ns, end_ns = (UTC_NS + int(second * 1e9) for second in (begin, end))
    return core_heat(Store(root).segments(), begin_ns, end_ns, int(step * SECOND_NS), **more)


def rows(found: CoreHeat, quantity: str = "system") -> dict[int, list[int]]:
    cells = list(getattr(found, quantity))
    return {core: cells[n * found.columns :][: found.columns] for n, core in enumerate(found.cores)}


@both_kinds
def test_every_core_has_a_percentage_a_second(tmp_path: Path, make: Any) -> None:
    spent = "user=30,nice=10,system=20,irq=5,softirq=15,steal=7,iowait=3,idle=10"
    make(tmp_path, seconds_of(["idle", "system", spent], ["idle"] * 3))
    found = heat(tmp_path, end=3)
    assert rows(found) == {0: [0, 100, 25], 1: [0, 0, 0]}
    assert rows(found, "user")[0] == [0, 0, 40]
    assert [rows(found, name)[0][2] for name in ("softirq", "steal", "wait")] == [15, 7, 3]
    assert (found.begin_ns, found.step_ns, found.columns, found.damaged) == (UTC_NS, SECOND_NS, 3, [])


@both_kinds
def test_what_is_not_recorded_is_unknown(tmp_path: Path, make: Any) -> None:
    moments = seconds_of(["system"] * 6)
    absent: Reading[Any] = Reading(absence=Absence.BROKEN)
    for second in (2, 3):
        moments[second] = replace(moments[second], readings={CORES.id: absent})
    make(tmp_path, moments)
    known = [100, UNKNOWN, UNKNOWN, UNKNOWN, 100, 100]
    assert rows(heat(tmp_path, begin=-1, end=7)) == {0: [UNKNOWN, *known, UNKNOWN]}


def test_of_several_seconds_in_a_column_the_fullest_is_shown(tmp_path: Path) -> None:
    sealed_segment(tmp_path, seconds_of(["idle", "system", "idle", "system=40,idle=60", "idle", "idle"]))
    assert rows(heat(tmp_path, step=2)) == {0: [100, 40, 0]}
    assert rows(heat(tmp_path, step=4)) == {0: [100, 0]}
    assert rows(heat(tmp_path, begin=2, end=1000, step=600)) == {0: [40, UNKNOWN]}


def test_no_second_is_lost_between_two_segments(tmp_path: Path) -> None:
    moments = seconds_of(["system", "user", "idle"] * 3)
    sealed_segment(tmp_path, moments[:4])
    sealed_segment(tmp_path, moments[3:8])
    open_segment(tmp_path, moments[7:])
    assert rows(heat(tmp_path, end=9)) == {0: [100, 0, 0] * 3}


def test_a_range_begins_with_the_second_that_it_begins_in(tmp_path: Path) -> None:
    sealed_segment(tmp_path, seconds_of(["idle", "system", "idle"]))
    found = heat(tmp_path, begin=1.4, end=2.6)
    assert (found.begin_ns, rows(found)) == (UTC_NS + SECOND_NS, {0: [100, 0]})
    with pytest.raises(ValueError, match="whole seconds"):
        heat(tmp_path, step=1.5)


def test_segments_of_two_clocks_stand_at_their_own_times(tmp_path: Path) -> None:
    sealed_segment(tmp_path, seconds_of(["idle"] * 2))
    later = anchor_at(BEGIN_NS, OFFSET_NS + 4 * SECOND_NS)
    sealed_segment(tmp_path, seconds_of(["system"] * 2), anchor=later)
    assert rows(heat(tmp_path)) == {0: [0, 0, UNKNOWN, UNKNOWN, 100, 100]}


def test_nothing_recorded_is_no_core(tmp_path: Path) -> None:
    found = heat(tmp_path)
    assert (found.cores, found.columns, found.user) == ([], 6, b"")


def test_a_damaged_file_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, seconds_of(["idle"] * 4))
    (segment.folder / "counters/cores.parquet").write_bytes(b"PAR1")
    sealed_segment(tmp_path, seconds_of(["idle"] * 6)[4:], anchor=anchor_at(BEGIN_NS + 4 * SECOND_NS))
    found = heat(tmp_path)
    (damage,) = found.damaged
    assert isinstance(damage.error, StoreError) and "cores.parquet" in damage.error.what
    assert (damage.folder, rows(found)) == (segment.folder, {0: [UNKNOWN] * 4 + [0, 0]})


def test_seconds_that_were_kept_are_not_read_again(tmp_path: Path) -> None:
    sealed_segment(tmp_path, seconds_of(["system", "idle"]))
    kept: list[_native.SegmentHeat | OSError] = []

    def seconds(files: Files) -> list[_native.SegmentHeat | OSError]:
        kept.extend(kept or _native.seconds_of_files(files))
        return kept[: len(files)]

    first = heat(tmp_path, end=2, seconds_of=seconds)
    (path,) = tmp_path.glob("*/*/counters/cores.parquet")
    path.write_bytes(b"other")
    assert heat(tmp_path, end=2, seconds_of=seconds) == first
    assert isinstance(kept[0], _native.SegmentHeat) and 10 <= kept[0].size_bytes < 1000
