"""Tables of recorded counters: what is written is read, by us and by DuckDB, or it is a plain error."""

from __future__ import annotations

import errno
import math
import os
import resource
from pathlib import Path
from typing import Any

import duckdb
import pytest

from necroscope import _native

BIG = 2**63 - 1
COLUMNS: list[tuple[str, str, list[Any]]] = [
    ("time_ns", "int", [-(2**63), -1, 0, None, BIG]),
    ("load_ratio", "float", [0.5, -1e300, math.inf, 3, None]),
    ("comm", "text", ["", "größe ✓", None, "a\x00b", "kworker/0:1"]),
    ("online", "bool", [True, False, None, None, True]),
    ("never read", "int", [None] * 5),
]
VALUES = {name: values for name, _, values in COLUMNS}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "counters.parquet"
    _native.write_table(path, COLUMNS)
    return path


def test_what_is_written_is_read(path: Path) -> None:
    read = _native.read_table(path)
    assert read == VALUES
    assert list(read) == list(VALUES)
    assert [type(value) for value in read["load_ratio"]] == [float, float, float, float, type(None)]
    assert read["online"][0] is True


def test_duckdb_reads_the_same(path: Path) -> None:
    connection = duckdb.connect()
    rows = connection.execute(f"SELECT * FROM '{path}'").fetchall()
    assert rows == list(zip(*VALUES.values(), strict=True))
    kinds = [row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()]
    assert kinds == ["BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "BIGINT"]
    found = connection.execute(
        f"SELECT path_in_schema, encodings, compression FROM parquet_metadata('{path}')"
    ).fetchall()
    assert all(compression == "ZSTD" for _, _, compression in found)
    encodings = {name: encodings for name, encodings, _ in found}
    assert "DELTA_BINARY_PACKED" in encodings["time_ns"]
    assert "DICTIONARY" not in encodings["time_ns"]
    assert "DICTIONARY" in encodings["comm"]


def test_only_the_columns_asked_for(path: Path) -> None:
    assert list(_native.read_table(path, ["online", "time_ns", "no such"])) == ["time_ns", "online"]
    assert _native.read_table(path, []) == {}


def test_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    _native.write_table(path, [(name, kind, []) for name, kind, _ in COLUMNS])
    assert _native.read_table(path) == {name: [] for name in VALUES}
    assert duckdb.connect().execute(f"SELECT count(*) FROM '{path}'").fetchall() == [(0,)]


def test_counters_beyond_64_bits_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "counters.parquet"
    _native.write_table(path, [("bytes", "int", [2**63, 2**64 - 1, 2**80, -(2**70)])])
    assert _native.read_table(path)["bytes"] == [BIG, BIG, BIG, -(2**63)]


def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "names.parquet"
    _native.write_table(path, [("comm", "text", [b"a\xffb".decode(errors="surrogateescape")])])
    (name,) = _native.read_table(path)["comm"]
    assert name[0] == "a"
    assert name[-1] == "b"
    assert "\ufffd" in name


def test_many_rows(tmp_path: Path) -> None:
    path = tmp_path / "many.parquet"
    rows = 96 * 120
    columns = [(f"counter {i}", "int", [i + row * 997 for row in range(rows)]) for i in range(10)]
    _native.write_table(path, columns)
    read = _native.read_table(path)
    assert read == {name: values for name, _, values in columns}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 1.0),
        ("int", "1"),
        ("int", True),
        ("float", "1.0"),
        ("float", False),
        ("float", 10**400),
        ("text", 1),
        ("text", b"bytes"),
        ("bool", 1),
        ("date", 1),
    ],
)
def test_a_value_of_another_kind(tmp_path: Path, kind: str, value: object) -> None:
    path = tmp_path / "table.parquet"
    with pytest.raises(ValueError, match=f"column odd: .*{kind}"):
        _native.write_table(path, [("even", "int", [1, 2]), ("odd", kind, [None, value])])
    assert not path.exists()


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ([], "without columns"),
        ([("a", "int", [1]), ("b", "int", [1, 2])], "column b has 2 rows, a has 1"),
        ([("a", "int", [1]), ("a", "text", ["1"])], "two columns are named a"),
    ],
)
def test_columns_that_make_no_table(
    tmp_path: Path, columns: list[tuple[str, str, list[Any]]], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        _native.write_table(tmp_path / "table.parquet", columns)


def test_errors_of_the_system_keep_their_number(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "table.parquet"
    with pytest.raises(FileNotFoundError) as error:
        _native.write_table(missing, COLUMNS)
    assert (error.value.errno, error.value.filename) == (errno.ENOENT, str(missing))
    assert error.value.strerror == "No such file or directory"
    with pytest.raises(FileNotFoundError):
        _native.read_table(missing)
    with pytest.raises(FileExistsError):
        _native.write_table(tmp_path, COLUMNS)
    with pytest.raises(IsADirectoryError):
        _native.read_table(tmp_path)


@pytest.mark.parametrize("rows", [1, 200_000])
def test_a_disk_that_takes_no_more(tmp_path: Path, rows: int) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    noise = [hash(str(row)) for row in range(rows)]
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, before[1]))  # Python ignores the signal
    try:
        with pytest.raises(OSError, match="too large") as error:
            _native.write_table(tmp_path / "table.parquet", [("noise", "int", noise)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert error.value.errno == errno.EFBIG


def test_nothing_is_written_over_or_through_a_link(tmp_path: Path, path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        _native.write_table(path, COLUMNS)
    assert path.read_bytes() == before
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        _native.write_table(tmp_path / "link", COLUMNS)
    assert not (tmp_path / "elsewhere").exists()
    assert path.stat().st_mode & 0o777 == 0o640


def test_only_regular_files_are_read(tmp_path: Path, path: Path) -> None:
    (tmp_path / "link").symlink_to(path)
    os.mkfifo(tmp_path / "pipe")
    for other in ("link", "pipe"):
        with pytest.raises(OSError, match=other):
            _native.read_table(tmp_path / other)


def test_a_damaged_file(path: Path) -> None:
    whole = path.read_bytes()
    for cut in (0, 1, 4, 8, len(whole) // 4, len(whole) // 2, len(whole) - 8, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(OSError, match=r"counters\.parquet"):
            _native.read_table(path)
    path.write_bytes(whole[:4] + bytes(len(whole) // 3) + whole[4 + len(whole) // 3 :])
    with pytest.raises(OSError, match=r"counters\.parquet"):
        _native.read_table(path)


def test_a_file_of_others(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    duckdb.connect().execute(f"COPY (SELECT [1, 2] AS list) TO '{path}'")
    with pytest.raises(OSError, match="not of a kind that we write"):
        _native.read_table(path)
