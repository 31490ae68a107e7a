"""One letter says how a core spent a second."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from necroscope.errors import StoreError
from necroscope.model.reading import Absence, Reading
from necroscope.signals.core_states import LEGEND, MISSING, CoreStates, core_states
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import CORES
from necroscope.store.segment import Moment
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


def states(
    root: Path, begin: float = 0, end: float = 6, step: int = 1, limits: dict[str, float] | None = None
) -> CoreStates:
    """The states of all that is stored, between two times in seconds after UTC_NS."""
    begin_ns, end_ns = (UTC_NS + int(second * 1e9) for second in (begin, end))
    thresholds = {**load_thresholds(None), **(limits or {})}
    return core_states(Store(root).segments(), begin_ns, end_ns, step * SECOND_NS, thresholds)


@pytest.mark.parametrize(
    ("spent", "letter"),
    [
        ("system", "S"),
        ("system=70,idle=30", "S"),
        ("irq=80,idle=20", "S"),
        ("softirq=60,system=20,idle=20", "Q"),
        ("steal=50,idle=50", "X"),
        ("user=96,idle=4", "U"),
        ("system=60,user=40", "U"),
        ("system=40,idle=60", "s"),
        ("user=60,idle=40", "u"),
        ("nice=60,idle=40", "u"),
        ("iowait=50,idle=50", "w"),
        ("idle", "."),
        ("user=30,system=30,idle=40", "."),
    ],
)
def test_the_letter_of_a_second(tmp_path: Path, spent: str, letter: str) -> None:
    open_segment(tmp_path, seconds_of([spent]))
    assert states(tmp_path, end=1).states == {0: letter}
    assert letter in LEGEND


def test_thresholds_are_those_in_force(tmp_path: Path) -> None:
    open_segment(tmp_path, seconds_of(["system=60,idle=40"]))
    assert states(tmp_path, end=1).states == {0: "s"}
    assert states(tmp_path, end=1, limits={"core-saturated.kernel_ratio": 0.6}).states == {0: "S"}


@both_kinds
def test_every_core_has_a_row_with_a_letter_a_second(tmp_path: Path, make: Any) -> None:
    make(tmp_path, seconds_of(["idle", "system", "system", "user"], ["idle"] * 4))
    found = states(tmp_path, end=4)
    assert found.states == {0: ".SSU", 1: "...."}
    assert (found.columns, found.missing) == (4, 0)


@both_kinds
def test_what_is_not_recorded_is_blank_and_counted(tmp_path: Path, make: Any) -> None:
    make(tmp_path, seconds_of(["idle", "system"]))
    found = states(tmp_path, begin=-2, end=4)
    assert found.states == {0: f"{MISSING * 2}.S{MISSING * 2}"}
    assert found.missing == 4


def test_a_range_cuts(tmp_path: Path) -> None:
    sealed_segment(tmp_path, seconds_of(["idle", "system", "user", "idle"]))
    assert states(tmp_path, begin=1, end=3).states == {0: "SU"}


def test_no_second_is_lost_between_two_segments(tmp_path: Path) -> None:
    moments = seconds_of(["system", "user", "idle"] * 3)
    sealed_segment(tmp_path, moments[:4])
    sealed_segment(tmp_path, moments[3:8])
    open_segment(tmp_path, moments[7:])
    assert states(tmp_path, end=9).states == {0: "SU." * 3}


def test_of_several_seconds_in_a_column_the_worst_is_shown(tmp_path: Path) -> None:
    sealed_segment(tmp_path, seconds_of(["idle", "system", "idle", "user", "idle", "idle"]))
    assert states(tmp_path, step=2).states == {0: "SU."}
    assert states(tmp_path, step=4).states == {0: "S."}
    assert states(tmp_path, step=60).states == {0: "S"}


@both_kinds
def test_a_hole_says_nothing_of_the_seconds_in_it(tmp_path: Path, make: Any) -> None:
    whole = seconds_of(["system"] * 8)
    make(tmp_path, [*whole[:3], *whole[7:]])
    assert states(tmp_path, end=8).states == {0: f"SS{MISSING * 5}S"}


@both_kinds
def test_seconds_that_could_not_be_read_are_blank(tmp_path: Path, make: Any) -> None:
    moments = seconds_of(["system"] * 6)
    absent: Reading[Any] = Reading(absence=Absence.BROKEN)
    for second in (2, 3):
        moments[second] = replace(moments[second], readings={CORES.id: absent})
    make(tmp_path, moments)
    assert states(tmp_path).states == {0: f"S{MISSING * 3}SS"}


def test_segments_of_two_clocks_stand_at_their_own_times(tmp_path: Path) -> None:
    sealed_segment(tmp_path, seconds_of(["idle"] * 2))
    later = anchor_at(BEGIN_NS, OFFSET_NS + 4 * SECOND_NS)
    sealed_segment(tmp_path, seconds_of(["user"] * 2), anchor=later)
    assert states(tmp_path).states == {0: f"..{MISSING * 2}UU"}


@both_kinds
def test_a_core_that_came_later_is_blank_before(tmp_path: Path, make: Any) -> None:
    def without_core_1(moment: Moment) -> Moment:
        cores: Any = moment.readings[CORES.id].value
        return replace(moment, readings={CORES.id: Reading(cores[:1])})

    moments = seconds_of(["idle"] * 4, ["system"] * 4)
    make(tmp_path, [*map(without_core_1, moments[:2]), *moments[2:]])
    assert states(tmp_path, end=4).states == {0: "....", 1: f"{MISSING * 2}SS"}


def test_the_cores_that_had_it_worst_come_first(tmp_path: Path) -> None:
    plans = [["idle"] * 4, ["user"] * 4, ["idle", "idle", "system", "system"], ["system"] * 4]
    open_segment(tmp_path, seconds_of(*plans))
    assert states(tmp_path, end=4).worst_first == [3, 2, 1, 0]


def test_nothing_recorded_is_no_core(tmp_path: Path) -> None:
    assert states(tmp_path).states == {}
    sealed_segment(tmp_path, seconds_of(["idle"] * 4))
    assert states(tmp_path, begin=100, end=200).states == {}


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, seconds_of(["idle"] * 4))
    (segment.folder / "counters/cores.parquet").write_bytes(b"PAR1")
    sealed_segment(tmp_path, seconds_of(["idle"] * 6)[4:], anchor=anchor_at(BEGIN_NS + 4 * SECOND_NS))
    found = states(tmp_path)
    (damage,) = found.damaged
    assert isinstance(damage.error, StoreError) and "cores.parquet" in damage.error.what
    assert (damage.folder, found.states[0]) == (segment.folder, "    ..")
