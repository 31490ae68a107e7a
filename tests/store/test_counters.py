"""The counters of a sealed segment: what was read is in the files, for us and for DuckDB."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from necroscope import _native
from necroscope.errors import StoreError
from necroscope.model.labels import Label, Labels
from necroscope.model.reading import Absence, Reading
from necroscope.sources.catalog import SOURCES
from necroscope.sources.cores import CORES
from necroscope.sources.host import Host
from necroscope.sources.instance import INSTANCE
from necroscope.sources.interrupts import INTERRUPTS, CoreCount, Interrupt
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueue
from necroscope.sources.pressure import PRESSURE, Pressure, Stall
from necroscope.sources.processes import PROCESSES, Processes, Task
from necroscope.sources.units import UNITS
from necroscope.store.counters import READINGS, read_counters, read_tables, write_counters
from necroscope.store.frames import frame
from necroscope.store.sampler import Sampler
from necroscope.store.segment import Moment
from tests.segments import BEGIN_NS, core_seconds
from tests.stored import moment_of, seconds_of, write_moments

HOSTS = [Path("/"), *sorted((Path(__file__).parents[1] / "hosts").glob("debian-*"))]
CGROUPS = HierarchyCount("cgroup v2", 2, 26, 6, 20, "/proc/cgroups")
QUEUE = NicQueue("eth0", "ena", "0000:00:05.0", 5, "both", 41, "eth0-Tx-Rx-5", (1,), (0, 1))
STALL = Stall(10, None)
CORE_SECONDS = core_seconds(["system=30,idle=70"] * 3, ["idle"] * 3)


def moments_of_many_sources() -> list[Moment]:
    absent: Reading[Any] = Reading(absence=Absence.NOT_PERMITTED, detail="units: run as root")
    return [
        moment_of(
            second,
            {
                CORES: CORE_SECONDS[second],
                PROCESSES: Processes(200, (Task(812, 830, "kubelet", 1, 2, second, "kubelet.service"),)),
                INTERRUPTS: (Interrupt(41, "eth0", (CoreCount(1, 5 * second),)), Interrupt(9, "acpi", ())),
                KERNEL_LOG: KernelLog((), 0, "/dev/kmsg"),
                MEMORY_CGROUPS: MemoryCgroups(CGROUPS, (CGROUPS, CGROUPS), None),
                PRESSURE: Pressure(STALL, STALL, STALL, STALL if second % 2 else None),
                NIC_QUEUES: (QUEUE,) * second,
                UNITS: absent,
            },
        )
        for second in range(4)
    ]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    moments = moments_of_many_sources()
    write_moments(tmp_path, moments)
    assert read_counters(tmp_path, SOURCES) == moments


@pytest.mark.parametrize("root", HOSTS, ids=lambda root: root.name or "this machine")
def test_real_readings_come_back(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    sampler = Sampler(Host(root))
    moments = [sampler.read(everything=True) for _ in range(3)]
    write_moments(tmp_path, moments)
    assert read_counters(tmp_path, SOURCES) == [_as_journalled(moment) for moment in moments]


def _as_journalled(moment: Moment) -> Moment:
    """The same moment; a journal has the detail of an absent reading only."""
    readings = {name: Reading(r.value) if r.value is not None else r for name, r in moment.readings.items()}
    return replace(moment, readings=readings)


def test_an_absent_reading_stays_absent_with_its_reason(tmp_path: Path) -> None:
    reading: Reading[Any] = Reading(absence=Absence.SWITCHED_OFF, detail="psi=0")
    moments = [
        moment_of(0, {PRESSURE: reading}),
        moment_of(1, {PRESSURE: Pressure(STALL, STALL, STALL, None)}),
        moment_of(2, {PRESSURE: replace(reading, absence=Absence.BROKEN)}),
    ]
    write_moments(tmp_path, moments)
    read = [moment.readings[PRESSURE.id] for moment in read_counters(tmp_path, SOURCES)]
    assert [reading.absence for reading in read] == [Absence.SWITCHED_OFF, None, Absence.BROKEN]
    assert read[0].detail == "psi=0"


def test_only_the_sources_asked_for_and_their_moments(tmp_path: Path) -> None:
    moments = [moment_of(0, {CORES: CORE_SECONDS[0], UNITS: ()}), moment_of(1, {UNITS: ()})]
    write_moments(tmp_path, moments)
    (moment,) = read_counters(tmp_path, (CORES,))
    assert list(moment.readings) == [CORES.id]
    assert [list(moment.readings) for moment in read_counters(tmp_path, (UNITS,))] == [[UNITS.id]] * 2


def test_two_moments_of_one_time_become_one(tmp_path: Path) -> None:
    """A recording begins with the counters, and then the lines that were logged before."""
    log = KernelLog((LogLine(BEGIN_NS, "line", 0, 1),), 0, "/dev/kmsg")
    write_moments(tmp_path, [moment_of(0, {CORES: CORE_SECONDS[0]}), moment_of(0, {KERNEL_LOG: log})])
    assert read_counters(tmp_path, SOURCES) == [moment_of(0, {CORES: CORE_SECONDS[0], KERNEL_LOG: log})]


def test_duckdb_reads_every_file(tmp_path: Path) -> None:
    moments = moments_of_many_sources()
    write_moments(tmp_path, moments)
    connection = duckdb.connect()
    rows = {
        path.stem: connection.execute(f"SELECT count(*) FROM '{path}'").fetchall()[0][0]
        for path in tmp_path.glob("*.parquet")
    }
    assert rows == {
        "readings": 4 * 8,
        "cores": 4 * 2,
        "processes": 4,
        "processes.tasks": 4,
        "processes.ended": 0,
        "interrupts": 4 * 2,
        "interrupts.counts": 4,
        "kernel-log": 4,
        "kernel-log.lines": 0,
        "memory-cgroups": 4,
        "memory-cgroups.others": 4 * 2,
        "pressure": 4,
        "nic-queues": 6,
        "nic-queues.cores": 6,
        "nic-queues.xps_cores": 12,
    }

    def only(query: str) -> Any:
        return connection.execute(query).fetchall()[0][0]

    assert only(f"SELECT max(system) FROM '{tmp_path}/cores.parquet' WHERE core = 0") == 90
    assert only(f"SELECT sum(system_ticks) FROM '{tmp_path}/processes.tasks.parquet'") == 0 + 1 + 2 + 3
    assert only(f"SELECT sum(taken) FROM '{tmp_path}/interrupts.counts.parquet'") == 5 * (0 + 1 + 2 + 3)
    assert only(f"SELECT count(irq_some_us) FROM '{tmp_path}/pressure.parquet'") == 2
    query = f"SELECT max(time) - min(time) FROM '{tmp_path}/readings.parquet' WHERE source = 'units'"
    assert only(query) == 3 * 10**9
    assert only(f"SELECT DISTINCT absence FROM '{tmp_path}/readings.parquet' WHERE source = 'units'") == (
        "NOT_PERMITTED"
    )


def test_rows_of_one_core_follow_each_other_in_time(tmp_path: Path) -> None:
    write_moments(tmp_path, moments_of_many_sources())
    table = _native.read_table(tmp_path / "cores.parquet")
    places = list(zip(table["core"], table["time"], strict=True))
    assert places == sorted(places)


def test_a_column_that_an_older_version_did_not_write_is_unknown(tmp_path: Path) -> None:
    write_moments(tmp_path, [moment_of(0, {PROCESSES: Processes(7, ()), CORES: CORE_SECONDS[0]})])
    path = tmp_path / "cores.parquet"
    kept = {name: values for name, values in _native.read_table(path).items() if name != "steal"}
    path.unlink()
    _native.write_table(path, [(name, "int", values) for name, values in kept.items()])
    (moment,) = read_counters(tmp_path, (CORES,))
    cores = moment.readings[CORES.id].value or ()
    assert [(core.core, core.steal) for core in cores] == [(0, None), (1, None)]


@pytest.mark.parametrize("name", [READINGS, "cores.parquet", "processes.tasks.parquet"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damage_is_an_error_and_not_an_empty_reading(tmp_path: Path, name: str, damage: str) -> None:
    write_moments(tmp_path, moments_of_many_sources())
    path = tmp_path / name
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match=name.replace(".", r"\.")) as error:
        read_counters(tmp_path, SOURCES)
    assert "damaged" in error.value.hint


def test_a_segment_of_nothing_but_counters_of_cores(tmp_path: Path) -> None:
    moments = seconds_of(["idle"] * 5, ["system"] * 5)
    write_moments(tmp_path, moments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cores.parquet", READINGS]
    assert read_counters(tmp_path, (CORES,)) == moments


def test_labels_of_any_name_and_recordings_that_are_older(tmp_path: Path) -> None:
    labels = Labels("node", zone="b", address="10.0.0.7", others=(Label("pool", "x"), Label("rack", "b17")))
    write_moments(tmp_path, [Moment(1, {INSTANCE.id: Reading(labels)}, {INSTANCE.id: 5})])
    (moment,) = read_counters(tmp_path, SOURCES)
    assert moment.readings[INSTANCE.id].value == labels
    (tmp_path / "instance.others.parquet").unlink()
    (moment,) = read_counters(tmp_path, SOURCES)
    assert moment.readings[INSTANCE.id].value == replace(labels, others=())


def test_a_journal_is_sealed_as_its_own_layout_says(tmp_path: Path) -> None:
    """A version that knows the source less well, or not at all, loses nothing of it."""
    layout = [["weather", True, [["weather", [["sky", "text"]]], ["weather.winds", [["of", "int"]]]]]]
    moment = [5, {"weather": [[["grey"], ["blue"]], [[1]]], "cores": []}, {"weather": 1, "cores": 1}]
    frames = [frame(json.dumps(payload).encode()) for payload in (["layout", layout], ["moment", moment])]
    journal, tables = read_tables(b"".join(frames))
    assert list(journal.moments[0].readings) == ["weather"]
    write_counters(tmp_path, journal.moments, tables)
    assert _native.read_table(tmp_path / "weather.parquet") == {"time": [5, 5], "sky": ["grey", "blue"]}


def test_a_source_with_a_column_of_a_newer_kind_is_left_out() -> None:
    layout = [["weather", True, [["weather", [["sky", "map"]]]]], ["sun", True, [["sun", [["up", "bool"]]]]]]
    moment = [5, {"weather": [[[{"a": 1}]]], "sun": [[[True]]]}, {"weather": 1, "sun": 1}]
    frames = [frame(json.dumps(payload).encode()) for payload in (["layout", layout], ["moment", moment])]
    journal, _ = read_tables(b"".join(frames))
    assert list(journal.moments[0].readings) == ["sun"]


@pytest.mark.parametrize("name", ["../weather", "/weather", ".weather", ""])
def test_a_layout_names_no_file_elsewhere(name: str) -> None:
    layout = [["weather", True, [[name, [["sky", "text"]]]]]]
    with pytest.raises(ValueError, match="not a layout"):
        read_tables(frame(json.dumps(["layout", layout]).encode()))
