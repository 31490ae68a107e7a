from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import pytest

from necroscope.errors import NothingRecordedError
from necroscope.server.questions.cores import Cores, ask_cores, choose_columns
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.store.seal import COUNTERS
from tests.server.questions.recorded_incident import BEGIN_US, recorded_incident, seconds
from tests.stored import SECOND_NS, sealed_segment, seconds_of


def row(cores: Cores, quantity: str, core: int) -> list[int]:
    place = cores.cores.index(core) * cores.columns
    return list(b64decode(getattr(cores, quantity)))[place : place + cores.columns]


@pytest.mark.parametrize("is_open", [True, False])
def test_every_second_of_every_core_across_segments(tmp_path: Path, is_open: bool) -> None:
    store = RecordedStore(recorded_incident(tmp_path, is_open=is_open))
    cores = ask_cores(store, seconds(0, 40), 40)
    assert (cores.begin_us, cores.step_us, cores.columns) == (BEGIN_US, 1_000_000, 40)
    assert cores.cores == [0, 1]
    assert row(cores, "system", 0) == [0] * 20 + [100] * 8 + [0] * 12
    assert row(cores, "system", 1) == [0] * 40
    assert not cores.damaged


def test_a_column_is_as_full_as_its_fullest_second(tmp_path: Path) -> None:
    cores = ask_cores(RecordedStore(recorded_incident(tmp_path)), seconds(0, 40), 4)
    assert (cores.step_us, cores.columns) == (10_000_000, 4)
    assert row(cores, "system", 0) == [0, 0, 100, 0]


def test_modes_are_told_apart_and_interrupts_are_system_time(tmp_path: Path) -> None:
    plan = ["user=20,nice=5,system=10,irq=5,softirq=15,iowait=30,steal=7,idle=8"] * 2
    sealed_segment(tmp_path, seconds_of(plan))
    cores = ask_cores(RecordedStore(tmp_path), seconds(0, 2), 2)
    found = {name: row(cores, name, 0)[0] for name in ("user", "system", "softirq", "steal", "wait")}
    assert found == {"user": 25, "system": 15, "softirq": 15, "steal": 7, "wait": 30}


def test_what_was_not_recorded_is_not_idle(tmp_path: Path) -> None:
    cores = ask_cores(RecordedStore(recorded_incident(tmp_path)), seconds(38, 43), 5)
    assert row(cores, "system", 0) == [0, 0, 255, 255, 255]


def test_a_segment_that_is_damaged_is_a_hole_that_is_told(tmp_path: Path) -> None:
    store = RecordedStore(recorded_incident(tmp_path))
    first = store.segments_of("node-17")[0].folder
    (first / COUNTERS / "cores.parquet").write_bytes(b"PAR1 and no more")
    cores = ask_cores(store, seconds(0, 40), 40)
    assert row(cores, "system", 0) == [255] * 20 + [100] * 8 + [0] * 12
    assert len(cores.damaged) == 1 and str(tmp_path) not in cores.damaged[0].what


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NothingRecordedError):
        ask_cores(RecordedStore(recorded_incident(tmp_path)), seconds(3600, 3700), 10)


@pytest.mark.parametrize("most", [1, 2, 7, 1024, 4096])
@pytest.mark.parametrize("length", [1, 59, 3600, 43_200, 10**9])
@pytest.mark.parametrize("begin", [0, 1_776_247_231])
def test_there_are_never_more_columns_than_asked_for(most: int, length: int, begin: int) -> None:
    begin_ns, end_ns = begin * SECOND_NS + 5, (begin + length) * SECOND_NS + 7
    first_ns, step_ns = choose_columns(begin_ns, end_ns, most)
    assert first_ns <= begin_ns and first_ns % SECOND_NS == 0 and step_ns % SECOND_NS == 0
    assert 1 <= -(-(end_ns - first_ns) // step_ns) <= most


def test_a_pan_shows_the_same_columns(tmp_path: Path) -> None:
    hour_ns = 3600 * SECOND_NS
    one, step_ns = choose_columns(1_776_247_231 * SECOND_NS, 1_776_247_231 * SECOND_NS + hour_ns, 1000)
    other, _ = choose_columns(1_776_247_238 * SECOND_NS, 1_776_247_238 * SECOND_NS + hour_ns, 1000)
    assert (other - one) % step_ns == 0
