"""One table over all sources that read files: what is bad is refused, and the refusal names the file.

A recorded host is copied once; every test spoils one file of the copy and puts it back.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from necroscope.model.reading import Absence, Reading
from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host
from tests.sources.conftest import Deny

HOSTS = Path(__file__).parents[1] / "hosts"
V1, V2 = "debian-5.10-v1", "debian-6.1-v2"
BY_ID = {source.id: source for source in SOURCES}
CPU_V1 = "/sys/fs/cgroup/cpu,cpuacct/live-0"


class Case(NamedTuple):
    """A file of a recorded host, and a source that cannot do without it."""

    host: str
    source: str
    file: str

    def __str__(self) -> str:
        return f"{self.host}-{self.source}-{self.file}"


FILES = [
    Case(V2, "cores", "/proc/stat"),
    Case(V2, "run-queues", "/proc/schedstat"),
    Case(V2, "softirqs", "/proc/softirqs"),
    Case(V2, "softnet", "/proc/net/softnet_stat"),
    Case(V2, "softirq-threads", "/proc/14/schedstat"),
    Case(V2, "interrupts", "/proc/interrupts"),
    Case(V2, "kernel-log", "/dev/kmsg"),
    Case(V2, "nic-timeouts", "/sys/class/net/eth0/queues/tx-0/tx_timeout"),
    Case(V2, "nic-queues", "/proc/interrupts"),
    Case(V2, "reclaim", "/proc/vmstat"),
    Case(V2, "reclaim", "/proc/meminfo"),
    Case(V2, "pressure", "/proc/pressure/cpu"),
    Case(V2, "pressure", "/proc/pressure/io"),
    Case(V2, "pressure", "/proc/pressure/memory"),
    Case(V2, "memory-cgroups", "/proc/1/mountinfo"),
    Case(V2, "memory-cgroups", "/sys/fs/cgroup/cgroup.controllers"),
    Case(V2, "memory-cgroups", "/sys/fs/cgroup/cgroup.stat"),
    Case(V1, "memory-cgroups", "/proc/1/mountinfo"),
    Case(V1, "memory-cgroups", "/proc/cgroups"),
    Case(V2, "throttling", "/proc/1/mountinfo"),
    Case(V2, "throttling", "/sys/fs/cgroup/cgroup.controllers"),
    Case(V2, "throttling", "/sys/fs/cgroup/live-0/cpu.max"),
    Case(V2, "throttling", "/sys/fs/cgroup/live-0/cpu.stat"),
    Case(V1, "throttling", f"{CPU_V1}/cpu.cfs_quota_us"),
    Case(V1, "throttling", f"{CPU_V1}/cpu.stat"),
]


def cut_in_the_middle(whole: bytes) -> bytes:
    half = whole[: (len(whole) + 1) // 2]
    return half[:-1] if half.endswith(b"\n") else half


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], Absence]] = {
    "empty": (lambda _: b"", Absence.BROKEN),
    "binary": (lambda _: b"\xff\xfe\x00", Absence.BROKEN),
    "binary lines": (lambda _: b"\x00\x01\n\x02\n", Absence.BROKEN),
    "cut in the middle": (cut_in_the_middle, Absence.BROKEN),
    "cut before the last newline": (lambda whole: whole[:-1], Absence.BROKEN),
}

# The last line of the file that is left, where what is missing then must be there on every kernel.
CUTS = [
    (Case(V2, "cores", "/proc/stat"), "cpu0 "),
    (Case(V2, "cores", "/proc/stat"), "procs_blocked"),
    (Case(V2, "run-queues", "/proc/schedstat"), "timestamp"),
    (Case(V2, "softirqs", "/proc/softirqs"), "TIMER"),
    (Case(V2, "reclaim", "/proc/vmstat"), "pgsteal_kswapd"),
    (Case(V2, "reclaim", "/proc/meminfo"), "MemFree"),
    (Case(V2, "pressure", "/proc/pressure/io"), "some"),
    (Case(V2, "pressure", "/proc/pressure/memory"), "some"),
    (Case(V2, "memory-cgroups", "/sys/fs/cgroup/cgroup.stat"), "nr_descendants"),
    (Case(V2, "throttling", "/sys/fs/cgroup/live-0/cpu.stat"), "nr_throttled"),
    (Case(V1, "throttling", f"{CPU_V1}/cpu.stat"), "nr_periods"),
]

Spoil = Callable[[Case], Path]
Copies = dict[str, Path]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Copies:
    folder = tmp_path_factory.mktemp("hosts")
    return {name: shutil.copytree(HOSTS / name, folder / name, symlinks=True) for name in (V1, V2)}


@pytest.fixture
def spoil(copies: Copies) -> Iterator[Spoil]:
    """Take a file out of a host, to put something else or nothing in its place."""
    spoilt: list[tuple[Path, bytes]] = []

    def take(case: Case) -> Path:
        path = (copies[case.host] / case.file.lstrip("/")).resolve()
        spoilt.append((path, path.read_bytes()))
        path.unlink()
        return path

    yield take
    for path, content in spoilt:
        if path.is_dir():
            path.rmdir()
        path.write_bytes(content)


def read(copies: Copies, case: Case) -> Reading[Any]:
    return BY_ID[case.source].open(Host(copies[case.host]))()


def assert_refused(reading: Reading[Any], absence: Absence, case: Case) -> None:
    assert reading.value is None
    assert reading.absence is absence
    assert case.file in reading.detail


each_file = pytest.mark.parametrize("case", FILES, ids=str)


@each_file
def test_the_whole_file_is_read(copies: Copies, case: Case) -> None:
    reading = read(copies, case)
    assert reading.value, reading.reason


@each_file
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bad_file(copies: Copies, spoil: Spoil, case: Case, damage: str) -> None:
    change, absence = DAMAGE[damage]
    whole = (copies[case.host] / case.file.lstrip("/")).read_bytes()
    spoil(case).write_bytes(change(whole))
    assert_refused(read(copies, case), absence, case)


@each_file
def test_a_folder_in_its_place(copies: Copies, spoil: Spoil, case: Case) -> None:
    spoil(case).mkdir()
    assert_refused(read(copies, case), Absence.BROKEN, case)


@each_file
def test_no_file(copies: Copies, spoil: Spoil, case: Case) -> None:
    spoil(case)
    reading = read(copies, case)
    if "/live-0/" in case.file:
        assert reading.value == ()  # a cgroup that was removed meanwhile, and the only one with a quota
    else:
        assert_refused(reading, Absence.NOT_SUPPORTED, case)


@each_file
def test_no_permission(copies: Copies, deny: Deny, case: Case) -> None:
    deny(str((copies[case.host] / case.file.lstrip("/")).resolve()))
    assert_refused(read(copies, case), Absence.NOT_PERMITTED, case)


@pytest.mark.parametrize(("case", "last"), CUTS, ids=lambda value: str(value).strip())
def test_cut_between_lines(copies: Copies, spoil: Spoil, case: Case, last: str) -> None:
    lines = (copies[case.host] / case.file.lstrip("/")).read_text().splitlines(keepends=True)
    end = next(number for number, line in enumerate(lines, 1) if line.strip().startswith(last))
    assert end < len(lines)
    spoil(case).write_text("".join(lines[:end]))
    assert_refused(read(copies, case), Absence.BROKEN, case)
