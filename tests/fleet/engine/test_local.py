from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lab.fleets.written_tables import write_fleet_tables
from necroscope.errors import StoreError, UsageError
from necroscope.fleet.engine.engine import LocalEngine
from necroscope.fleet.engine.gathering import Gathering, gather_files, merge_parts
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.tables import duck
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.fleet.tables.read_tables import read_tables
from necroscope.model.timestamp import HOUR_US

BEGIN_US = 500_000 * HOUR_US
EXPOSURE = Gathering(
    "segments",
    ("host", "facts"),
    (
        ("recorded_us", "sum", "sum(recorded_us)"),
        ("resets", "sum", "sum(nic_reset)"),
        ("first_us", "min", "min(begin_us)"),
        ("last_us", "max", "max(begin_us)"),
    ),
)


@pytest.fixture
def tables(tmp_path: Path) -> FleetTables:
    rows = [
        {
            "host": f"host-{host}",
            "segment": str(number),
            "begin_us": BEGIN_US + number * HOUR_US // 4,
            "recorded_us": 10**15 + number,  # no float could keep it apart
            "facts": "before" if number < 6 else "after",
            "nic_reset": number % 2,
        }
        for host in range(5)
        for number in range(12)
    ]
    write_fleet_tables(tmp_path, {"segments": [pa.Table.from_pylist(rows)]})
    return read_tables(FolderPlace(tmp_path))


def test_groups_in_the_order_of_their_keys(tables: FleetTables) -> None:
    rows = LocalEngine().gather(tables, EXPOSURE, BEGIN_US, BEGIN_US + 3 * HOUR_US).to_pylist()
    keys = [(row["host"], row["facts"]) for row in rows]
    assert keys == sorted(keys)
    assert len(keys) == 10
    assert rows[1] == {
        "host": "host-0",
        "facts": "before",
        "recorded_us": 6 * 10**15 + 15,
        "resets": 3,
        "first_us": BEGIN_US,
        "last_us": BEGIN_US + 5 * HOUR_US // 4,
    }


def test_the_range_is_to_the_microsecond(tables: FleetTables) -> None:
    engine, quarter_us = LocalEngine(), HOUR_US // 4
    for begin, end, resets in ((0, 4, 2), (1, 2, 1), (2, 3, 0)):
        found = engine.gather(tables, EXPOSURE, BEGIN_US + begin * quarter_us, BEGIN_US + end * quarter_us)
        assert set(found.column("resets").to_pylist()) == {resets}
    assert not engine.gather(tables, EXPOSURE, BEGIN_US + 1, BEGIN_US + quarter_us).num_rows


def test_of_nothing_there_are_no_rows_but_all_columns(tables: FleetTables) -> None:
    engine = LocalEngine()
    full = engine.gather(tables, EXPOSURE, BEGIN_US, BEGIN_US + HOUR_US)
    assert engine.gather(tables, EXPOSURE, 0, 10).schema == full.schema
    events = Gathering("events", ("host",), (("events", "sum", "count(*)"),), "time_us")
    assert engine.gather(tables, events, 0, 10).num_rows == 0


def test_parts_together_are_the_whole(tables: FleetTables) -> None:
    end_us = BEGIN_US + 3 * HOUR_US
    paths = tables.paths("segments", BEGIN_US, end_us)
    assert len(paths) == 3
    parts = [gather_files(EXPOSURE, [path], BEGIN_US, end_us) for path in reversed(paths)]
    parts.append(gather_files(EXPOSURE, [], BEGIN_US, end_us))
    assert merge_parts(EXPOSURE, parts) == LocalEngine().gather(tables, EXPOSURE, BEGIN_US, end_us)


def test_map_and_reduce_keep_the_order() -> None:
    engine = LocalEngine()
    assert list(engine.map(str, [3, 1, 2])) == ["3", "1", "2"]
    assert engine.reduce(str, "".join, [3, 1, 2]) == "312"


def test_memory_is_bounded(tables: FleetTables, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Gathering("segments", ("host",), (("text", "max", "max(repeat(segment, 100_000_000))"),))
    monkeypatch.setenv("NECROSCOPE_FLEET_MEMORY", "100MB")
    with pytest.raises(StoreError, match="too much memory") as told:
        LocalEngine().gather(tables, wide, BEGIN_US, BEGIN_US + 3 * HOUR_US)
    assert "NECROSCOPE_FLEET_MEMORY" in told.value.hint
    monkeypatch.setenv("NECROSCOPE_FLEET_MEMORY", "plenty")
    with pytest.raises(UsageError, match="NECROSCOPE_FLEET_MEMORY"):
        LocalEngine().gather(tables, EXPOSURE, 0, 1)


def test_what_does_not_fit_into_memory_goes_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 600_000
    numbers = pa.array(np.arange(count)).cast(pa.string())
    names = pc.binary_join_element_wise("a name that is long enough to take memory " * 3, numbers, "")
    hosts = pa.array(["host"] * count).dictionary_encode()
    rows = pa.table({"host": hosts, "segment": names, "begin_us": np.full(count, BEGIN_US)})
    write_fleet_tables(tmp_path, {"segments": [rows]})
    monkeypatch.setenv("NECROSCOPE_FLEET_MEMORY", "80MiB")
    gathering = Gathering("segments", ("segment",), (("n", "sum", "count(*)"),))
    found = LocalEngine().gather(read_tables(FolderPlace(tmp_path)), gathering, 0, BEGIN_US + 1)
    assert found.num_rows == count
    assert found.nbytes > 80 << 20


def test_a_damaged_table_is_told(tables: FleetTables) -> None:
    path = tables.paths("segments")[0]
    path.write_bytes(b"PAR1" + path.read_bytes()[100:-100])
    with pytest.raises(StoreError, match="a table cannot be read"):
        LocalEngine().gather(tables, EXPOSURE, BEGIN_US, BEGIN_US + HOUR_US)


def test_several_may_ask_at_once(tables: FleetTables) -> None:
    found: list[pa.Table] = []
    work = [
        threading.Thread(
            target=lambda: found.append(LocalEngine().gather(tables, EXPOSURE, 0, BEGIN_US + HOUR_US))
        )
        for _ in range(4)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert all(one == found[0] for one in found)
    assert len(found) == 4


def test_the_number_of_threads_is_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NECROSCOPE_FLEET_THREADS", "1")
    monkeypatch.setenv("NECROSCOPE_FLEET_MEMORY", "77MiB")  # a database of its own
    with duck.connected() as connection:
        assert connection.sql("SELECT current_setting('threads')").fetchall() == [(1,)]
