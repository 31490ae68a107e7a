"""`necroscope zombies` on real zombies: whose they are, what holds them, and what they cost here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.faults.zombies import HIERARCHY, in_use, tracked, why_not, zombies
from tests.real.recorders import recording
from tests.unprivileged import as_nobody

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
PROGRAM = Path(sys.executable).with_name("necroscope")
ON_DISK = "/var/tmp"
NEEDS_ROOM = 120
# Leaks a number of cgroups, waits for a line, and lets them go.
LEAK = """
import sys
from lab.faults.zombies import zombies
with zombies(int(sys.argv[1])):
    print("leaked", flush=True)
    sys.stdin.readline()
"""


def ask(*words: str, code: int | None = None) -> dict[str, Any]:
    command = [str(PROGRAM), "zombies", "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in ((0, 1) if code is None else (code,)), done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    return body


def held(body: dict[str, Any], kind: str) -> int:
    """What the removed cgroups of this test hold."""
    rows = body["pins"]["by_parent"]
    name = f"/necroscope-lab-{os.getpid()}"
    return sum(int(row[kind]) for row in rows if row["cgroup"] == name)


def kind_of(folder: str) -> str:
    command = ["stat", "--file-system", "--format=%T", folder]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def leaker(count: int) -> Iterator[int]:
    """A process of its own that has leaked so many, and lets them go in the end."""
    command = [sys.executable, "-c", LEAK, str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "leaked\n"
        try:
            yield process.pid
        finally:
            process.communicate("\n", timeout=60)


def quiet_level() -> int:
    """The zombies of others, once the kernel has freed what the tests before this one left to it."""
    level, deadline = tracked() - in_use(), time.monotonic() + 30
    while time.monotonic() < deadline:
        time.sleep(2)
        level, before = tracked() - in_use(), level
        if level == before:
            break
    return level


def test_tmpfs_is_told_to_the_page(tmp_path: Path) -> None:
    with zombies(400):
        body = ask("-d", "1s", "--store", str(tmp_path))
        assert held(body, "tmpfs_bytes") == pytest.approx(400 * 4096, abs=64 * 4096)
        assert abs(held(body, "page_cache_bytes")) <= 64 * 4096


@pytest.mark.skipif(kind_of(ON_DISK) in ("tmpfs", "overlayfs"), reason=f"{ON_DISK} is not on a disk")
def test_page_cache_is_told_from_it(tmp_path: Path) -> None:
    with zombies(400, ON_DISK):
        body = ask("-d", "1s", "--store", str(tmp_path))
        # The folder's own blocks are charged to them as well.
        assert 400 * 4096 - 64 * 4096 <= held(body, "page_cache_bytes") <= 800 * 4096
        assert abs(held(body, "tmpfs_bytes")) <= 64 * 4096


def test_a_leak_while_looking_is_named_counted_and_listed(tmp_path: Path) -> None:
    """Its creator is this interpreter, which is told apart from all others by its process number."""
    before = quiet_level()
    look = subprocess.Popen(
        [
            str(PROGRAM),
            "zombies",
            "--json",
            "--list",
            "-d",
            "8s",
            "--by",
            "creator",
            "--store",
            str(tmp_path),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(1.5)
    with leaker(150) as pid:
        text, _ = look.communicate(timeout=60)
    body = json.loads(text)
    own = [row for row in body["zombies"] if f"/necroscope-lab-{pid}/" in row["path"]]
    assert len(own) == 150
    assert {row["creator_pid"] for row in own} == {pid}
    assert {row["remover_pid"] for row in own} == {pid}
    assert all(0 < row["age_seconds"] < 9 for row in own)
    assert sum(share["zombies"] for share in body["ledger"]["shares"]) >= 150
    assert body["ledger"]["older"] == pytest.approx(before, abs=NEEDS_ROOM)


def test_what_a_zombie_takes_is_measured_while_they_are_made(tmp_path: Path) -> None:
    """8,000 cgroups within a look: the slope of Percpu is 2 KB or so for each possible core."""
    look = subprocess.Popen(
        [str(PROGRAM), "zombies", "--json", "-d", "12s", "--store", str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with ExitStack() as leaks:
        for _ in range(8):
            leaks.enter_context(leaker(1000))
            time.sleep(1)  # a reading of each step
        text, _ = look.communicate(timeout=60)
    memory = json.loads(text)["costs"]["memory"]
    assert memory["how"] == "measured"
    cores = len(os.sched_getaffinity(0))
    assert 1_000 * cores < memory["percpu_bytes_each"] < 5_000 * cores


def test_without_root_they_are_counted_and_it_says_what_it_cannot(tmp_path: Path) -> None:
    done = subprocess.run(
        [*as_nobody(), str(PROGRAM), "zombies", "--json", "-d", "1s", "--store", str(tmp_path / "none")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "HOME": "/nonexistent"},
    )
    assert done.returncode in (0, 1), done.stderr
    body = json.loads(done.stdout)
    assert body["counts"]["tracked"] == pytest.approx(tracked(), abs=50)
    assert body["ledger"] is None
    (row,) = [row for row in body["not_checked"] if row["source"] == "cgroup-ledger"]
    assert "root" in row["hint"]


def test_a_running_recorder_is_asked(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with recording(store, samples=False), zombies(200):
        time.sleep(12)  # the ledger settles, and is written every 5 s
        began = time.monotonic()
        body = ask("--store", str(store), "--list")
        assert time.monotonic() - began < 8, "nobody waits for ten seconds"
        mine = [row for row in body["zombies"] if f"/necroscope-lab-{os.getpid()}/" in row["path"]]
        assert len(mine) == 200
        assert body["ledger"]["zombies"] >= 200
        assert body["ledger"]["seconds"] > 6


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    instances = Path("/sys/kernel/tracing/instances")
    before = {path.name for path in instances.iterdir()} if instances.exists() else set()
    cgroups = {path.name for path in HIERARCHY.iterdir()}
    ask("-d", "1s", "--store", str(tmp_path / "store"))
    after = {path.name for path in instances.iterdir()} if instances.exists() else set()
    assert not {name for name in after - before if Path(f"/proc/{name.rpartition('-')[2]}").exists() is False}
    assert {path.name for path in HIERARCHY.iterdir()} == cgroups
    assert not (tmp_path / "store").exists()
