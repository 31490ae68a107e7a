"""zombies as people run it, on recordings of known content and on this machine."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, Leak, LedgerGroup
from necroscope.sources.hierarchies import find_hierarchy
from necroscope.sources.host import Host
from necroscope.sources.instance import open_instance
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.store.segment import Moment
from tests.cli.conftest import PROGRAM, Run
from tests.segments import BEGIN_NS
from tests.stored import SECOND_NS, anchor_at, moment_of, open_segment, sealed_segment

Document = Callable[..., dict[str, Any]]
HOSTS = Path(__file__).parents[1] / "hosts"
HERE = find_hierarchy(Host(), "memory")
needs_memory = pytest.mark.skipif(HERE.value is None, reason=f"needs a memory hierarchy: {HERE.reason}")
MINUTES = 60
AT_END = ("--host", "node-17", "-e", "2026-04-15T11:00:01Z")


def leak(number: int, second: float) -> Leak:
    made_ns = BEGIN_NS + int(second * 1e9)
    path = f"/system.slice/ecs.service/{number}"
    return Leak(
        number, path, made_ns, made_ns + 10**9, "runc", 700 + number, "/x", "ecs.service", "runc", 700, ""
    )


def moment(minute: int, *, began_ns: int = BEGIN_NS, freed: tuple[int, ...] = ()) -> Moment:
    """Two zombies more every minute, and 300 from before; the ledger names one of the two."""
    second, dying = minute * 60, 300 + 2 * minute
    memory = HierarchyCount("memory (v1)", 1, dying + 40, 40, dying, "/proc/cgroups")
    counts = MemoryCgroups(memory, (), 5_000_000 + 200_000 * dying)
    group = LedgerGroup(
        "/system.slice/ecs.service/#", "runc", "/x", "ecs.service", "runc", "", minute * 4, minute * 4,
        minute * 2, minute * 2, minute * 2, f"/system.slice/ecs.service/{minute}",
    )  # fmt: skip
    ledger = CgroupLedger(
        began_ns, 0, 0, 0, minute * 2, minute * 2, (group,) if minute else (), (leak(minute, second),), freed
    )
    return moment_of(second, {MEMORY_CGROUPS: counts, CGROUP_LEDGER: ledger})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An hour, in segments of ten minutes; zombies 5 and 7 are freed at the end."""
    root = tmp_path_factory.mktemp("zombies") / "store"
    for begin in range(0, MINUTES, 10):
        moments = [moment(minute) for minute in range(begin, begin + 11)]
        if begin + 10 == MINUTES:
            moments[-1] = moment(MINUTES, freed=(5, 7))
        sealed_segment(root, moments, anchor=anchor_at(moments[0].time_ns))
    return root


def test_a_recorded_hour_is_judged_at_its_end(document: Document, store: Path) -> None:
    body = document("zombies", "--store", store, *AT_END, exit_code=1)
    assert body["counts"]["dying"] == 420
    assert (body["ledger"]["zombies"], body["ledger"]["older"]) == (120, 300)
    assert body["ledger"]["shares"] == [
        {
            "name": "ecs.service",
            "made": 240,
            "removed": 240,
            "released": 120,
            "dying": 120,
            "zombies": 120,
            "creators": ["runc"],
            "example": "/system.slice/ecs.service/60",
        }
    ]
    assert body["is_leaking"] is True
    assert body["leak_rate"]["value"] == pytest.approx(2.0)
    assert body["trend"]["value"] == pytest.approx(2.0)
    assert body["trend"]["level"] == pytest.approx(460)


def test_ranges_choose_the_moment(document: Document, store: Path) -> None:
    body = document(
        "zombies", "--store", store, "--host", "node-17", "-e", "2026-04-15T10:30:01Z", exit_code=1
    )
    assert body["counts"]["dying"] == 360
    assert body["ledger"]["zombies"] == 60


def test_those_that_were_freed_are_not_listed(document: Document, store: Path) -> None:
    body = document("zombies", "--list", "--store", store, *AT_END, exit_code=1)
    ids = [row["id"] for row in body["zombies"]]
    assert ids == [n for n in range(MINUTES, -1, -1) if n not in (5, 7)]
    assert body["zombies"][-1]["path"] == "/system.slice/ecs.service/0"
    assert body["zombies"][-1]["age_seconds"] == pytest.approx(3599)
    assert (body["named"]["count"], body["named"]["of"], body["named"]["left_out"]) == (59, 120, 0)


def test_without_list_there_is_none(document: Document, store: Path) -> None:
    assert document("zombies", "--store", store, *AT_END, exit_code=1)["zombies"] is None


@pytest.mark.parametrize(
    ("by", "name"),
    [("path", "/system.slice/ecs.service/#"), ("creator", "runc"), ("unit", "ecs.service")],
)
def test_by(document: Document, store: Path, by: str, name: str) -> None:
    body = document("zombies", "--by", by, "--store", store, *AT_END, exit_code=1)
    assert [share["name"] for share in body["ledger"]["shares"]] == [name]


def test_the_past_is_not_asked_for_what_only_a_live_host_tells(document: Document, store: Path) -> None:
    body = document("zombies", "--store", store, *AT_END, exit_code=1)
    assert body["pins"] is None and body["costs"]["reads"] == []
    assert {row["source"] for row in body["not_checked"]} == {"statistics-reads", "zombie-pins", "profiles"}


def test_the_text_fits_into_sixty_columns(necroscope: Run, store: Path) -> None:
    for words in ((), ("--list",), ("--by", "path")):
        done = necroscope("zombies", *words, "--store", store, *AT_END, env={"COLUMNS": "60"})
        assert done.returncode == 1
        assert max(map(len, done.stdout.splitlines())) <= 60
        assert "420 dying memory cgroups, +2 a minute" in " ".join(done.stdout.split())


def test_nothing_recorded_is_said(necroscope: Run, tmp_path: Path) -> None:
    done = necroscope("zombies", "--store", tmp_path, "--host", "node-17")
    assert (done.returncode, done.stdout) == (3, "")
    assert "no recording of node-17" in done.stderr


def test_watching_the_past_makes_no_sense(necroscope: Run, store: Path) -> None:
    assert necroscope("zombies", "--watch", "--store", store, *AT_END).returncode == 2
    assert necroscope("zombies", "--watch", "--root", HOSTS / "debian-6.1-v2").returncode == 2


@pytest.mark.parametrize("tree", sorted(path.name for path in HOSTS.glob("debian-*")))
def test_a_recorded_tree_is_counted_and_says_what_it_cannot(
    document: Document, tree: str, tmp_path: Path
) -> None:
    began = time.monotonic()
    body = document("zombies", "--root", HOSTS / tree, "--store", tmp_path)
    assert time.monotonic() - began < 5, "there is nothing to wait for"
    assert body["counts"]["tracked"] == body["counts"]["in_use"] + body["counts"]["dying"]
    assert body["ledger"] is None and body["trend"] is None
    assert {"cgroup-ledger", "statistics-reads"} <= {row["source"] for row in body["not_checked"]}
    assert body["wall"]["outlook"] == "not recorded for long enough"


def test_a_root_without_cgroups_cannot_be_looked_at(necroscope: Run, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    done = necroscope("zombies", "--root", tmp_path, "--store", tmp_path)
    assert done.returncode == 3
    assert "memory cgroups cannot be counted" in done.stderr


@needs_memory
def test_where_a_recorder_runs_its_ledger_is_read(document: Document, tmp_path: Path) -> None:
    """The open segment of this boot whose last second is of just now is a recorder's."""
    labels = open_instance(Host())().value
    assert labels
    now_ns = time.monotonic_ns()
    moments = []
    for second in range(-20, 1):
        one = moment(second + 60, began_ns=now_ns - 3600 * SECOND_NS)
        moments.append(Moment(now_ns + second * SECOND_NS, one.readings, one.cost_ns))
    anchor = anchor_at(moments[0].time_ns, time.time_ns() - now_ns)
    open_segment(tmp_path, moments, anchor=anchor, boot_id=labels.boot_id, host=labels.hostname)
    began = time.monotonic()
    done = document("zombies", "--store", tmp_path, exit_code=None)
    assert time.monotonic() - began < 8, "it does not look for ten seconds"
    assert done["ledger"]["zombies"] == 120
    assert done["ledger"]["seconds"] == pytest.approx(3600, abs=1)
    assert done["host"]["hostname"] == labels.hostname


@needs_memory
def test_a_recorder_that_was_killed_is_not_believed(document: Document, tmp_path: Path) -> None:
    labels = open_instance(Host())().value
    assert labels
    now_ns = time.monotonic_ns()
    one = moment(60)
    old = [Moment(now_ns + second * SECOND_NS, one.readings, one.cost_ns) for second in range(-60, -40)]
    anchor = anchor_at(old[0].time_ns, time.time_ns() - now_ns)
    open_segment(tmp_path, old, anchor=anchor, boot_id=labels.boot_id, host=labels.hostname)
    body = document("zombies", "-d", "1s", "--store", tmp_path, exit_code=None)
    assert body["ledger"] is None or body["ledger"]["zombies"] != 120


@needs_memory
def test_watch_appends_a_line_a_second_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    command = [str(PROGRAM), "zombies", "--watch", "--store", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    lines = [process.stdout.readline() for _ in range(3)]
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert all(" tracked " in line and " dying " in line for line in lines)
    assert "tracked by the kernel" in rest, "the whole report at the end"


@needs_memory
def test_watch_for_machines_is_one_object_a_line(necroscope: Run, tmp_path: Path) -> None:
    done = necroscope("zombies", "--watch", "-d", "2s", "--json", "--store", tmp_path)
    bodies = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode in (0, 1)
    assert len(bodies) == 4  # at 0, 1 and 2 s, and the last one once more
    assert all(body["verb"] == "zombies" and body["counts"]["tracked"] > 0 for body in bodies)
    assert bodies[0].keys() == bodies[-1].keys()


@needs_memory
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    script = '"$0" zombies --watch --store "$1" | head -1; exit ${PIPESTATUS[0]}'
    command = ["bash", "-c", script, str(PROGRAM), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (141, "")


@needs_memory
def test_on_a_terminal_each_frame_replaces_the_one_before(tmp_path: Path) -> None:
    command = [str(PROGRAM), "zombies", "--watch", "-d", "2s", "--store", str(tmp_path)]
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (12, 70))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(command, stdout=theirs, env={**environment, "TERM": "xterm"})
    os.close(theirs)
    data = b""
    with suppress(OSError):  # the other side is closed
        while chunk := os.read(ours, 65_536):
            data += chunk
    os.close(ours)
    assert process.wait(20) in (0, 1)
    _, *frames = data.decode().split("\033[H\033[J")
    assert len(frames) == 4  # at 0, 1 and 2 s, and all of it in the end
    assert all(frame.count("\n") <= 12 for frame in frames[:3])
    assert frames[3].count("\n") > 12
