from __future__ import annotations

import lzma
import os
import random
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from necroscope.model.package import Package
from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.packaging import rpm, rpm_sqlite
from necroscope.sources.packaging.rpm import find_owners, read_installed
from necroscope.sources.packaging.rpm_header import parse_header

DATABASES = Path(__file__).parent / "package_databases"
FOLDER = "var/lib/rpm"
SQLITE, NDB, BERKELEY = "rpmdb.sqlite", "Packages.db", "Packages"
INSTALLED = [
    Package("agent", "2:1.2-3.el9", "x86_64"),
    Package("first", "1-3.el9", "x86_64"),
    Package("many", "7-3.el9", "x86_64"),
    Package("old-unit", "0.1-3.el9", "noarch"),
    Package("second", "0:1~rc1-3.el9", "x86_64"),
]
OWNERS = {
    "/usr/lib/systemd/system/agent.service": "agent",
    "/etc/agent.conf": "agent",
    "/lib/systemd/system/old.service": "old-unit",
    "/usr/share/many/folder-2/file-299": "many",
    "/usr/bin/first": "first",
    "/usr/bin/shared": "second",  # which replaced that of first
    "/var/log/second.log": "second",
}
NOBODYS = (
    "/usr/bin/gone",
    "/usr/lib/systemd/system/gone.service",
    "/usr/lib/systemd/system/",
    "agent.conf",
    "",
)

each_format = pytest.mark.parametrize("file", [SQLITE, NDB, BERKELEY])
Put = Callable[..., Host]


def content(file: str) -> bytes:
    return lzma.decompress((DATABASES / f"{file}.xz").read_bytes())


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Put a database into a root of its own."""

    def write(file: str, data: bytes | None = None, folder: str = FOLDER) -> Host:
        path = tmp_path / folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(file) if data is None else data)
        return Host(tmp_path)

    return write


def assert_broken(host: Host, file: str, why: str = "") -> None:
    for reading in (read_installed(host), find_owners(host, OWNERS)):
        assert reading.absence is Absence.BROKEN
        assert f"/{FOLDER}/{file}" in reading.detail
        assert why in reading.detail


@each_format
@pytest.mark.parametrize("folder", [FOLDER, "usr/lib/sysimage/rpm", "usr/share/rpm"])
def test_all_packages_of_every_format(put: Put, file: str, folder: str) -> None:
    assert sorted(read_installed(put(file, folder=folder)).value or ()) == INSTALLED


@each_format
def test_owners_in_every_format(put: Put, file: str) -> None:
    assert find_owners(put(file), (*OWNERS, *NOBODYS)).value == OWNERS


@each_format
def test_nothing_is_written(put: Put, file: str) -> None:
    folder = put(file).root / FOLDER
    before = [(path.name, path.stat().st_mtime_ns) for path in (folder, *folder.iterdir())]
    read_installed(Host(folder.parents[2]))
    assert [(path.name, path.stat().st_mtime_ns) for path in (folder, *folder.iterdir())] == before


def test_an_empty_database_does_not_hide_the_other(put: Put, tmp_path: Path) -> None:
    put(NDB)
    (tmp_path / FOLDER / SQLITE).write_bytes(content(SQLITE))
    with closing(sqlite3.connect(tmp_path / FOLDER / SQLITE, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("DELETE FROM Packages")
    assert len(read_installed(Host(tmp_path)).value or ()) == 5


def test_no_database(tmp_path: Path) -> None:
    for reading in (read_installed(Host(tmp_path)), find_owners(Host(tmp_path), OWNERS)):
        assert reading.absence is Absence.NOT_SUPPORTED
        assert "/usr/lib/sysimage/rpm, /var/lib/rpm, /usr/share/rpm" in reading.detail


# Changes that are in a log only


@pytest.mark.parametrize("mode", ["WAL", "PERSIST"])
def test_a_log_that_was_not_merged_is_seen_and_left_alone(tmp_path: Path, mode: str) -> None:
    source = tmp_path / "running.sqlite"
    source.write_bytes(content(SQLITE))
    folder = tmp_path / "root" / FOLDER
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(source, isolation_level=None)) as database:
        database.execute(f"PRAGMA journal_mode = {mode}")
        database.execute("PRAGMA cache_size = 1")  # what does not fit goes to the file before the commit
        database.execute("BEGIN")
        database.execute("DELETE FROM Packages WHERE hnum = 1")
        database.execute("UPDATE Packages SET blob = zeroblob(100000)")
        if mode == "WAL":
            database.execute("ROLLBACK")
            database.execute("DELETE FROM Packages WHERE hnum = 1")
        # A copy as a crash or a snapshot of the disk would leave it.
        for ending in ("", "-wal", "-journal"):
            if Path(f"{source}{ending}").exists():
                (folder / f"{SQLITE}{ending}").write_bytes(Path(f"{source}{ending}").read_bytes())
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(before) == 2
    reading = read_installed(Host(tmp_path / "root"))
    # The deletion was committed to the one log; the other is there to undo what was not.
    expected = [package for package in INSTALLED if mode != "WAL" or package.name != "first"]
    assert sorted(reading.value or ()) == expected, reading.reason
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_no_place_to_merge_a_log(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    host = put(SQLITE)
    put(f"{SQLITE}-wal", b"a log")
    monkeypatch.setattr("tempfile.tempdir", str(host.root / "nowhere"))
    assert_broken(host, SQLITE, "nowhere")


# What others may have put there


def packages_sql(sql: str) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.executescript(sql)
        return database.serialize()


NO_TABLE = "no table of packages"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT zeroblob(i) AS blob FROM n"


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("CREATE TABLE Other (blob)", NO_TABLE),
        (f"CREATE VIEW Packages AS {ENDLESS}", NO_TABLE),
        ("CREATE VIRTUAL TABLE Packages USING fts5(blob)", NO_TABLE),
        ("CREATE TABLE Packages (hnum, blob AS (zeroblob(1000000000)))", NO_TABLE),
        ("CREATE TABLE Packages (hnum, blob AS (zeroblob(9)) STORED)", NO_TABLE),
        ("CREATE TABLE Packages (hnum)", NO_TABLE),
        ("CREATE TABLE Packages (blob); INSERT INTO Packages VALUES (NULL)", "SQLite says"),
        ("CREATE TABLE Packages (blob); INSERT INTO Packages VALUES (7)", "SQLite says"),
        ("CREATE TABLE Packages (blob); INSERT INTO Packages VALUES ('text')", "SQLite says"),
        ("CREATE TABLE Packages (blob); INSERT INTO Packages VALUES (zeroblob(8))", "not a header"),
        ("CREATE TABLE Packages (blob); INSERT INTO Packages VALUES (zeroblob(2000))", "too big"),
    ],
)
def test_a_table_that_is_not_rpms_is_refused(
    put: Put, sql: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpm_sqlite, "MOST_HEADER_BYTES", 1000)
    assert_broken(put(SQLITE, packages_sql(sql)), SQLITE, why)


def test_rows_that_are_larger_than_their_file(put: Put) -> None:
    host = put(SQLITE)
    with pytest.raises(ValueError, match="larger than the file"):
        list(rpm_sqlite.read_headers(host, f"/{FOLDER}/{SQLITE}", 1000))


@each_format
@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"\xff" * 9000, b"text\n" * 9000])
def test_a_file_that_is_no_database(put: Put, file: str, data: bytes) -> None:
    assert_broken(put(file, data), file)


@each_format
def test_a_cut_file_is_refused(put: Put, file: str) -> None:
    whole = content(file)
    lengths = [len(whole) * part // 40 for part in range(40)]
    for length in lengths[:-1] if file == SQLITE else lengths:  # a table of SQLite's end is an index
        assert_broken(put(file, whole[:length]), file)


@each_format
def test_a_damaged_file_neither_crashes_nor_hangs(put: Put, file: str) -> None:
    chance = random.Random(6)
    whole = content(file)
    outcomes = set()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 10, 100))):
            at = chance.randrange(len(data) - 4)
            data[at : at + 4] = chance.choice((bytes(4), b"\xff" * 4, chance.randbytes(4)))
        host = put(file, bytes(data))
        find_owners(host, OWNERS)
        outcomes.add(read_installed(host).absence)
    assert outcomes <= {None, Absence.BROKEN, Absence.NOT_SUPPORTED}
    assert Absence.BROKEN in outcomes


def test_pages_that_lead_in_a_circle(put: Put) -> None:
    data = bytearray(content(BERKELEY))
    page_bytes = 512
    overflow = [at for at in range(0, len(data), page_bytes) if data[at + 25] == 7]
    for at in overflow:
        struct.pack_into("<I", data, at + 16, at // page_bytes)
    assert_broken(put(BERKELEY, bytes(data)), BERKELEY, "led to twice")


def test_a_page_that_is_another(put: Put) -> None:
    data = bytearray(content(BERKELEY))
    data[512 + 8] ^= 4
    assert_broken(put(BERKELEY, bytes(data)), BERKELEY, "page 1 says that it is 5")


def test_a_bucket_that_is_nowhere(put: Put) -> None:
    data = bytearray(content(BERKELEY))
    struct.pack_into("<I", data, 96, 0)  # the place of the first
    assert_broken(put(BERKELEY, bytes(data)), BERKELEY, "page 0 is not there")


def test_a_log_that_is_huge_or_a_link(put: Put, tmp_path: Path) -> None:
    host = put(SQLITE)
    log = tmp_path / FOLDER / f"{SQLITE}-wal"
    log.symlink_to(tmp_path / FOLDER / SQLITE)
    assert sorted(read_installed(host).value or ()) == INSTALLED
    log.unlink()
    log.touch()
    os.truncate(log, 1 << 40)
    assert_broken(host, SQLITE, "too large")


def test_a_header_that_was_changed(put: Put) -> None:
    data = content(NDB).replace(b"/usr/bin/", b"/usr/bim/")
    assert_broken(put(NDB, data), NDB, "checksum")


def test_an_entry_of_gigabytes(put: Put) -> None:
    data = bytearray(content(BERKELEY))
    bucket = next(at for at in range(0, len(data), 512) if data[at + 25] == 13 and data[at + 20])
    (value,) = struct.unpack_from("<H", data, bucket + 26 + 2 * (data[bucket + 20] - 1))  # the last
    assert data[bucket + value] == 3  # it is in pages of its own
    struct.pack_into("<I", data, bucket + value + 8, 0xF0000000)
    assert_broken(put(BERKELEY, bytes(data)), BERKELEY, "an entry of 4026531840 bytes")


def test_slots_that_share_one_record(put: Put) -> None:
    data = bytearray(content(NDB))
    for at in range(48, 4096, 16):
        data[at : at + 16] = data[32:48]
    assert_broken(put(NDB, bytes(data)), NDB, "larger than the file")


@each_format
def test_a_sparse_file_of_terabytes(put: Put, file: str) -> None:
    host = put(file)
    os.truncate(host.root / FOLDER / file, 1 << 40)
    assert_broken(host, file, "too many")


@each_format
def test_no_permission(put: Put, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Simulated: root may open anything.
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    host = put(file)
    monkeypatch.setattr(Host, "found", refuse)
    assert read_installed(host).absence is Absence.NOT_PERMITTED


@each_format
def test_what_is_no_file(tmp_path: Path, file: str) -> None:
    path = tmp_path / FOLDER / file
    path.mkdir(parents=True)
    assert_broken(Host(tmp_path), file, "not a file")
    path.rmdir()
    os.mkfifo(path)
    assert_broken(Host(tmp_path), file, "not a file")
    path.unlink()
    path.symlink_to(file)
    assert read_installed(Host(tmp_path)).absence is Absence.BROKEN


@each_format
def test_a_link_does_not_lead_out_of_the_root(tmp_path: Path, file: str) -> None:
    outside = tmp_path / file
    outside.write_bytes(content(file))
    folder = tmp_path / "root" / FOLDER
    folder.mkdir(parents=True)
    (folder / file).symlink_to(outside)
    assert read_installed(Host(tmp_path / "root")).absence is Absence.NOT_SUPPORTED


# Headers


def header(*entries: tuple[int, int, int, int], data: bytes = b"name\x001\x002\x00") -> bytes:
    index = b"".join(struct.pack(">4I", *entry) for entry in entries)
    return struct.pack(">2I", len(entries), len(data)) + index + data


NAME, VERSION, RELEASE = (1000, 6, 0, 1), (1001, 6, 5, 1), (1002, 6, 7, 1)


def test_what_was_added_at_the_installation_counts() -> None:
    assert parse_header(header(NAME, VERSION, RELEASE)).package() == Package("name", "1-2", "")
    changed = parse_header(header(NAME, VERSION, RELEASE, (1001, 6, 7, 1)))
    assert changed.package().version == "2-2"


@pytest.mark.parametrize(
    "blob",
    [
        header(),
        header(VERSION, RELEASE),
        header((1000, 4, 0, 1), VERSION, RELEASE),
        header((1000, 6, 0, 0), VERSION, RELEASE),
        header((1000, 6, 9, 1), VERSION, RELEASE),
        header((1000, 6, 0xFFFFFFFF, 1), VERSION, RELEASE),
        header(NAME, VERSION, RELEASE, (1003, 4, 0, 0xFFFFFFFF)),
        header(NAME, VERSION, RELEASE, (1022, 6, 9, 1), data=b"name\x001\x002\x00x86"),
        header(NAME, VERSION, RELEASE)[:-1],
        header(NAME, VERSION, RELEASE) + b"\0",
        struct.pack(">2I", 0x10000, 0) + bytes(16 * 0x10000),
    ],
)
def test_a_header_that_is_not_whole_is_refused(blob: bytes) -> None:
    with pytest.raises(ValueError, match="header"):
        parse_header(blob).package()


@pytest.mark.parametrize("numbers", [(0,), (0, 1, 0), (9, 9)])
def test_lists_of_files_that_do_not_agree(numbers: tuple[int, ...]) -> None:
    data = b"/a/\0x\0y\0".ljust(8, b"\0") + struct.pack(f">{len(numbers)}I", *numbers)
    entries = ((1118, 8, 0, 1), (1117, 8, 4, 2), (1116, 4, 8, len(numbers)))
    found = parse_header(header(*entries, data=data)).paths_in({"/a/": {"x", "y"}})
    if len(numbers) == 2:  # folders that are not there
        assert not list(found)
    else:
        with pytest.raises(ValueError, match="zip"):
            list(found)


@each_format
def test_more_packages_than_there_are_in_the_world_are_refused(
    put: Put, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpm, "MAX_PACKAGES", 1)
    assert_broken(put(file), file, "more than 1 packages")
