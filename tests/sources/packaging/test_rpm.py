from __future__ import annotations

import ast
import io
import lzma
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from necroscope.model.package import Package
from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.packaging import rpm
from necroscope.sources.packaging.rpm import find_owners, parse_owners, parse_packages, read_installed

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

needs_rpm = pytest.mark.skipif(shutil.which("rpm") is None, reason="the program rpm is missing")
IS_ROOT = os.geteuid() == 0
CHANGES_USER = IS_ROOT and bool(rpm._own_capabilities() >> rpm.CAP_SETUID & 1)
each_format = pytest.mark.parametrize("file", [SQLITE, BERKELEY])
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


@needs_rpm
@each_format
@pytest.mark.parametrize("folder", [FOLDER, "usr/lib/sysimage/rpm", "usr/share/rpm"])
def test_all_packages_of_every_format(put: Put, file: str, folder: str) -> None:
    assert sorted(read_installed(put(file, folder=folder)).value or ()) == INSTALLED


@needs_rpm
@each_format
def test_owners_in_every_format(put: Put, file: str) -> None:
    assert find_owners(put(file), (*OWNERS, *NOBODYS)).value == OWNERS


@needs_rpm
def test_a_format_that_this_rpm_may_not_know(put: Put) -> None:
    host = put(NDB)
    if read_installed(host).value:
        assert sorted(read_installed(host).value or ()) == INSTALLED
    else:  # as that of Debian
        assert_broken(host, NDB, "the rpm of this system cannot read databases of the kind ndb")


@needs_rpm
@each_format
def test_nothing_is_written(put: Put, file: str) -> None:
    folder = put(file).root / FOLDER
    before = [(path.name, path.stat().st_mtime_ns) for path in (folder, *folder.iterdir())]
    read_installed(Host(folder.parents[2]))
    assert [(path.name, path.stat().st_mtime_ns) for path in (folder, *folder.iterdir())] == before


@needs_rpm
def test_an_empty_database_does_not_hide_the_other(put: Put, tmp_path: Path) -> None:
    put(BERKELEY)
    (tmp_path / FOLDER / SQLITE).write_bytes(content(SQLITE))
    with closing(sqlite3.connect(tmp_path / FOLDER / SQLITE, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("DELETE FROM Packages")
    assert len(read_installed(Host(tmp_path)).value or ()) == 5
    assert find_owners(Host(tmp_path), OWNERS).value == OWNERS


def test_no_database(tmp_path: Path) -> None:
    for reading in (read_installed(Host(tmp_path)), find_owners(Host(tmp_path), OWNERS)):
        assert reading.absence is Absence.NOT_SUPPORTED
        assert "/usr/lib/sysimage/rpm, /var/lib/rpm, /usr/share/rpm" in reading.detail


# Changes that are in a log only


@needs_rpm
def test_a_log_that_was_not_merged_is_seen_and_left_alone(tmp_path: Path) -> None:
    source = tmp_path / "running.sqlite"
    source.write_bytes(content(SQLITE))
    folder = tmp_path / "root" / FOLDER
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(source, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA cache_size = 1")  # what does not fit goes to the log before the commit
        database.execute("BEGIN")
        database.execute("UPDATE Packages SET blob = zeroblob(100000)")
        database.execute("ROLLBACK")
        database.execute("DELETE FROM Packages WHERE hnum = 1")
        # A copy as a crash or a snapshot of the disk would leave it.
        for ending in ("", "-wal"):
            (folder / f"{SQLITE}{ending}").write_bytes(Path(f"{source}{ending}").read_bytes())
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    reading = read_installed(Host(tmp_path / "root"))
    expected = [package for package in INSTALLED if package.name != "first"]
    assert sorted(reading.value or ()) == expected, reading.reason
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_no_place_for_a_copy(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    host = put(SQLITE)
    monkeypatch.setattr("tempfile.tempdir", str(host.root / "nowhere"))
    assert_broken(host, SQLITE, "nowhere")


# How rpm is run


@pytest.fixture
def fake_rpm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Put a script in rpm's place. Its folder is one that every user can enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)

        def write(script: str) -> None:
            program = Path(folder) / "rpm"
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)

        monkeypatch.setitem(rpm.ENVIRONMENT, "PATH", f"{folder}:/usr/bin:/bin")
        yield write


def test_rpm_has_no_rights_and_nothing_of_the_caller(
    put: Put, fake_rpm: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "a token")
    monkeypatch.delitem(rpm.LIMITS, resource.RLIMIT_NPROC)  # the script starts programs
    fake_rpm(r"""
rights=$(awk '/CapEff|NoNewPrivs/ { print $2 }' /proc/self/status)
printf 'P\t%s\t%s\t%s\n' "$(echo $(id -u) $(id -G) $rights)" "$(env | sort | tr '\n' ' ')" "$*"
""")
    ((who, environment, words),) = read_installed(put(SQLITE)).value or ()
    own = rpm.UNUSED_ID if CHANGES_USER else os.geteuid()
    assert who.split()[0] == str(own)
    assert who.endswith(f" {0:016x} 1")
    assert not CHANGES_USER or who.startswith(f"{own} {own} 0")
    assert {pair.partition("=")[0] for pair in environment.split()} <= {"PATH", "LC_ALL", "PWD", "_"}
    assert words.startswith("--macros /dev/null --rcfile /dev/null --nosignature --dbpath ")


CONFINED = "--bounding-set=-all,+perfmon,+syslog,+sys_ptrace,+dac_read_search"  # the pod of level full


@pytest.mark.skipif(
    not CHANGES_USER or not shutil.which("setpriv"), reason="needs root with CAP_SETUID, and setpriv"
)
@pytest.mark.parametrize(
    ("capabilities", "seen"),
    [
        (CONFINED, [f"0 0 {0:016x} {0:016x} 1"]),
        (f"{CONFINED},+setuid", "to run rpm as user 65521 takes CAP_CHOWN, CAP_KILL, CAP_SETGID as well"),
    ],
)
def test_root_that_cannot_change_its_user(put: Put, capabilities: str, seen: object) -> None:
    code = r"""
import sys
from pathlib import Path
from necroscope.sources.host import Host
from necroscope.sources.packaging import rpm

rpm.ENVIRONMENT["PATH"] = f"{sys.argv[2]}:/usr/bin:/bin"
reading = rpm.read_installed(Host(Path(sys.argv[1])))
print([package.name for package in reading.value or ()] or reading.detail)
"""
    host = put(SQLITE)
    program = host.root / "bin/rpm"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\nset -- $(awk '/^(Uid|Gid|CapPrm|CapEff|NoNewPrivs):/ { print $2 }' /proc/self/status)\n"
        "printf 'P\\t%s\\t1\\tx\\n' \"$*\"\n"
    )
    program.chmod(0o755)
    confined = ["setpriv", "--no-new-privs", "--inh-caps=-all", capabilities]
    words = [*confined, sys.executable, "-c", code, str(host.root), str(program.parent)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert str(seen) in ran.stdout
    if isinstance(seen, list) and shutil.which("rpm"):
        ran = subprocess.run([*words[:-1], "/usr/bin"], capture_output=True, text=True, check=True)
        assert sorted(ast.literal_eval(ran.stdout)) == [package.name for package in INSTALLED]


@pytest.mark.parametrize(("ending", "failure"), [("exit 0", ""), ("wait", "ended after 1 s")])
def test_what_rpm_started_ends_with_it(
    put: Put, fake_rpm: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, ending: str, failure: str
) -> None:
    monkeypatch.delitem(rpm.LIMITS, resource.RLIMIT_NPROC)
    monkeypatch.setattr(rpm, "MAX_SECONDS", 1)
    argument = f"{os.getpid()}{time.monotonic_ns()}"  # of no other process
    fake_rpm(rf"sleep {argument} & printf 'P\tname\t1\tx\n'; {ending}")
    assert failure in read_installed(put(SQLITE)).detail
    begin = time.monotonic()
    while running(argument):
        assert time.monotonic() - begin < 5
        time.sleep(0.01)


def running(argument: str) -> list[Path]:
    """The processes with this argument; one that has ended has none."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if argument.encode() in path.read_bytes().split(b"\0"):
                found.append(path)
    return found


@pytest.mark.skipif(IS_ROOT and not CHANGES_USER, reason="the kernel exempts root's processes")
def test_rpm_cannot_start_many(put: Put, fake_rpm: Callable[[str], None]) -> None:
    fake_rpm("n=0; while [ $n -lt 100 ]; do sleep 100 & n=$((n + 1)); done")
    assert_broken(put(SQLITE), SQLITE, "rpm says: 2")


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "private/of-a-session"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o700)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@needs_rpm
def test_a_private_tmpdir(put: Put, private: Path) -> None:
    assert sorted(read_installed(put(SQLITE)).value or ()) == INSTALLED
    assert not list(private.iterdir())


@pytest.mark.skipif(not CHANGES_USER, reason="needs root with CAP_SETUID: its rpm is another user's")
def test_no_folder_that_all_can_enter(put: Put, private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpm, "FALLBACK", private)
    assert_broken(put(SQLITE), SQLITE, f"cannot enter {private}; set TMPDIR")


@needs_rpm
def test_copies_of_those_who_were_killed_are_removed(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as room:
        Path(room).chmod(0o755)
        monkeypatch.setattr("tempfile.tempdir", room)
        old, young, link, other = (Path(room, name) for name in ("old", "young", "link", "other"))
        old, young, link = (path.with_name(rpm.PREFIX + path.name) for path in (old, young, link))
        for folder in (old, young, other):
            folder.mkdir()
            (folder / SQLITE).touch()
        link.symlink_to(other)
        for path in (old, link, other):
            os.utime(path, (0, 0), follow_symlinks=False)
        assert read_installed(put(SQLITE)).value
        assert sorted(Path(room).iterdir()) == sorted([young, link, other])
        assert (other / SQLITE).exists()


@needs_rpm
def test_no_macro_of_anybody_is_expanded(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o777)
        macros = ("_dbpath", "_db_backend", "_keyringpath", "_query_all_fmt")
        Path(home, ".rpmmacros").write_text("".join(f"%{name} %(touch {home}/ran)\n" for name in macros))
        monkeypatch.setenv("HOME", home)
        monkeypatch.setenv("PATH", home)
        assert sorted(read_installed(put(SQLITE)).value or ()) == INSTALLED
        assert not Path(home, "ran").exists()


@each_format
def test_rpm_is_missing(put: Put, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rpm.ENVIRONMENT, "PATH", "/nowhere")
    assert_broken(put(file), file, "install rpm to read these packages")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'error: a header is bad' >&2", "rpm says: error: a header is bad"),
        ("exit 7", "rpm says: 7"),
        ("kill -SEGV $$", "ended by SIGSEGV"),
        ("echo 'warning: using dummy database, installs not possible' >&2", "databases of the kind sqlite"),
        (r"printf 'P\tname'", "not enough values"),
        ("exec sleep 100", "ended after 1 s"),
        ("exec yes", "ended by SIGXFSZ"),
        ("exec yes >&2", "ended by SIGXFSZ"),
    ],
)
def test_rpm_fails(
    put: Put, fake_rpm: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    monkeypatch.setattr(rpm, "MAX_SECONDS", 1)
    monkeypatch.setitem(rpm.LIMITS, resource.RLIMIT_FSIZE, 1 << 20)
    fake_rpm(script)
    assert_broken(put(SQLITE), SQLITE, why)


def test_warnings_are_no_failure(put: Put, fake_rpm: Callable[[str], None]) -> None:
    fake_rpm(r"echo 'warning: no index' >&2; printf 'P\tname\t1-2\t(none)\n'")
    assert read_installed(put(BERKELEY)).value == (Package("name", "1-2", ""),)


# What others may have put there


def packages_sql(sql: str) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.executescript(sql)
        return database.serialize()


ROWS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


@needs_rpm
@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE Other (blob)",
        f"CREATE VIEW Packages AS {ROWS} SELECT i AS hnum, zeroblob(9) AS blob FROM n",
        f"CREATE VIEW Packages AS {ROWS} SELECT i AS hnum, zeroblob(i) AS blob FROM n WHERE i < 0",
        "CREATE VIRTUAL TABLE Packages USING fts5(hnum, blob)",
        "CREATE TABLE Packages (hnum, blob AS (zeroblob(1000000000))); INSERT INTO Packages VALUES (1)",
        "CREATE TABLE Packages (hnum)",
        "CREATE TABLE Packages (hnum, blob); INSERT INTO Packages VALUES (1, NULL)",
        "CREATE TABLE Packages (hnum, blob); INSERT INTO Packages VALUES (1, 7)",
        "CREATE TABLE Packages (hnum, blob); INSERT INTO Packages VALUES (1, 'text')",
        "CREATE TABLE Packages (hnum, blob); INSERT INTO Packages VALUES (1, zeroblob(8))",
    ],
)
def test_a_table_that_is_not_rpms_ends_soon_and_is_no_package(
    put: Put, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpm, "MAX_SECONDS", 2)
    monkeypatch.setitem(rpm.LIMITS, resource.RLIMIT_CPU, 1)
    host = put(SQLITE, packages_sql(sql))
    begin = time.monotonic()
    for reading in (read_installed(host), find_owners(host, OWNERS)):
        assert not reading.value
        assert reading.absence in (Absence.BROKEN, Absence.NOT_SUPPORTED)
    assert time.monotonic() - begin < 10


@needs_rpm
@each_format
@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"\xff" * 9000, b"text\n" * 9000])
def test_a_file_that_is_no_database(put: Put, file: str, data: bytes) -> None:
    assert_broken(put(file, data), file, "rpm says")


@needs_rpm
@each_format
def test_a_cut_file_is_refused(put: Put, file: str) -> None:
    whole = content(file)
    for part in range(0, 38, 4):  # SQLite's table ends before the file does
        assert_broken(put(file, whole[: len(whole) * part // 40]), file)


@needs_rpm
@each_format
def test_a_damaged_file_neither_crashes_nor_hangs(put: Put, file: str) -> None:
    chance = random.Random(6)
    whole = content(file)
    outcomes = set()
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 10, 100))):
            at = chance.randrange(len(data) - 4)
            data[at : at + 4] = chance.choice((bytes(4), b"\xff" * 4, chance.randbytes(4)))
        host = put(file, bytes(data))
        find_owners(host, OWNERS)
        outcomes.add(read_installed(host).absence)
    assert outcomes <= {None, Absence.BROKEN, Absence.NOT_SUPPORTED}
    assert Absence.BROKEN in outcomes


@needs_rpm
def test_a_header_that_was_changed(put: Put) -> None:
    assert_broken(put(BERKELEY, content(BERKELEY).replace(b"/usr/bin/", b"/usr/bim/")), BERKELEY, "skipping")


@needs_rpm
def test_a_log_that_is_a_link_or_huge(put: Put, tmp_path: Path) -> None:
    host = put(SQLITE)
    log = tmp_path / FOLDER / f"{SQLITE}-wal"
    log.symlink_to(tmp_path / FOLDER / SQLITE)
    assert sorted(read_installed(host).value or ()) == INSTALLED
    log.unlink()
    log.touch()
    os.truncate(log, 1 << 40)
    assert_broken(host, SQLITE, "too many")


@each_format
def test_a_sparse_file_of_terabytes(put: Put, file: str) -> None:
    host = put(file)
    os.truncate(host.root / FOLDER / file, 1 << 40)
    assert_broken(host, file, "too many")


def test_a_database_and_its_logs_that_are_too_many_bytes(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    host = put(SQLITE)
    put(f"{SQLITE}-wal", b"12345678")
    monkeypatch.setattr(rpm, "MAX_COPY_BYTES", len(content(SQLITE)))
    assert_broken(host, SQLITE, "too many to copy")


def test_a_file_that_grows_is_not_followed() -> None:
    target = io.BytesIO()
    rpm._copy(io.BytesIO(b"0123456789"), target, 4)
    assert target.getvalue() == b"0123"


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


# What rpm answers

ANSWER = [b"P\tname\t1-2\tx86\n", b"D\t/a/\n", b"D\t/b/\n"]


@pytest.mark.parametrize(
    ("state", "is_owned"), [(b"0", True), (b"3", True), (b"(none)", True), (b"1", False)]
)
def test_only_files_that_are_there_are_owned(state: bytes, is_owned: bool) -> None:
    line = b"F\t1\t%b\twith\ttab\n" % state
    found = parse_owners([*ANSWER, line], {b"/b/with\ttab", b"/a/with\ttab"})
    assert found == ({"/b/with\ttab": "name"} if is_owned else {})


def test_a_line_of_a_name_with_a_newline_is_not_taken_for_a_file() -> None:
    assert parse_owners([*ANSWER, b"F\t0\t0\tone\n", b"two\n"], {b"/a/one\ntwo", b"/a/two"}) == {}


@pytest.mark.parametrize("line", [b"F\t2\t0\tx\n", b"F\tno\t0\tx\n", b"F\t0\n"])
def test_lists_of_files_that_do_not_agree(line: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_owners([*ANSWER, line], {b"/a/x"})


def test_more_packages_than_there_are_in_the_world_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpm, "MAX_PACKAGES", 1)
    assert len(parse_packages(ANSWER[:1]) or ()) == 1
    with pytest.raises(ValueError, match="more than 1 packages"):
        parse_packages(ANSWER[:1] * 2)
