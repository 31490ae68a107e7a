from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.processes import (
    PROCESSES,
    TICKS_PER_SECOND,
    EndedChildren,
    Processes,
    Task,
)
from tests.sources.conftest import Content, Deny, Tree


def stat(pid: int, comm: str, user: int, system: int, core: int, *, ended: tuple[int, int] = (0, 0)) -> str:
    user_of_ended, system_of_ended = ended
    return (
        f"{pid} ({comm}) S 1 1 1 0 -1 4194560 0 0 0 0 {user} {system} "
        f"{user_of_ended} {system_of_ended} 20 0 1 0 77 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 {core} 0 0 0 0 0\n"
    )


INIT = {"/proc/1/stat": stat(1, "systemd", 5, 5, 0)}


def test_what_each_used_since_the_reading_before(tree: Tree) -> None:
    idle = {"/proc/8/stat": stat(8, "idle", 1, 1, 0)}
    busy = {"/proc/7/stat": stat(7, "a (b) c", 100, 900, 1)}
    read = PROCESSES.open(tree({**INIT, **idle, **busy, "/proc/self/stat": "rubbish"}))
    assert read().value == Processes(3, ())
    tree({"/proc/7/stat": stat(7, "a (b) c", 102, 930, 3), "/proc/7/cgroup": "0::/system.slice/a.service\n"})
    assert read().value == Processes(3, (Task(7, 7, "a (b) c", 3, 2, 30, "a.service"),))
    assert read().value == Processes(3, ())


def test_the_busiest_of_every_core(tree: Tree) -> None:
    """A core full of busy threads must not hide the busiest of a quieter one."""
    host = tree(INIT)
    read = PROCESSES.open(host)
    read()
    tree({f"/proc/{pid}/stat": stat(pid, "busy", pid, 0, 0) for pid in range(100, 110)})
    tree({"/proc/50/stat": stat(50, "quiet", 1, 1, 95)})
    processes = read().value
    assert processes
    assert processes.count == 12
    assert [task.pid for task in processes.tasks] == [109, 108, 107, 106, 105, 104, 103, 102, 50]


def test_work_that_came_and_went_is_its_parents_children(tree: Tree) -> None:
    shell = {"/proc/7/cgroup": "0::/system.slice/ssh.service\n"}
    host = tree({**INIT, **shell, "/proc/7/stat": stat(7, "bash", 1, 1, 0, ended=(400, 100))})
    read = PROCESSES.open(host)
    assert read().value == Processes(2, ())
    tree({"/proc/7/stat": stat(7, "bash", 1, 1, 0, ended=(460, 130))})
    assert read().value == Processes(2, (), (EndedChildren(7, "bash", 90, "ssh.service"),))
    assert read().value == Processes(2, ())


@pytest.mark.parametrize("text", ["", b"\xff\xfe\x00", "7 (a", "7 (a) S 1 1 1 0 -1 41", "/"])
def test_a_process_that_cannot_be_read_is_not_counted(tree: Tree, text: str | bytes) -> None:
    files: dict[str, Content] = {**INIT, "/proc/7/stat": text}
    if text == "/":
        files["/proc/7/stat"] = None
    assert PROCESSES.open(tree(files))().value == Processes(1, ())


def test_nothing_to_see(tree: Tree, tmp_path: Path) -> None:
    reading = PROCESSES.open(tree({"/proc/1/stat": "rubbish"}))()
    assert (reading.absence, reading.detail) == (Absence.NOT_SUPPORTED, "no process is visible in /proc")
    shutil.rmtree(tmp_path / "proc")
    reading = PROCESSES.open(tree({}))()
    assert reading.absence is Absence.NOT_SUPPORTED
    assert "/proc: No such file or directory" in reading.detail
    reading = PROCESSES.open(tree({"/proc": "a file"}))()
    assert reading.absence is Absence.NOT_SUPPORTED
    assert "/proc: Not a directory" in reading.detail


def test_processes_that_are_hidden(tree: Tree, deny: Deny) -> None:
    """A part of them would be taken for all."""
    hidden = (Absence.NOT_PERMITTED, "/proc hides other users' processes")
    reading = PROCESSES.open(tree({"/proc/7/stat": stat(7, "mine", 1, 1, 0)}))()  # hidepid=2
    assert (reading.absence, reading.detail) == hidden
    host = tree(INIT)
    deny("/proc/1/stat")
    reading = PROCESSES.open(host)()  # hidepid=1: its folder can be seen
    assert (reading.absence, reading.detail) == hidden


@pytest.fixture
def busy_core() -> Iterator[tuple[int, int]]:
    """The pid and core of a child that keeps one core busy."""
    core = max(os.sched_getaffinity(0))
    child = subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"])
    os.sched_setaffinity(child.pid, [core])
    yield child.pid, core
    child.kill()
    child.wait()


def test_this_machine_sees_a_busy_child_on_its_core(busy_core: tuple[int, int]) -> None:
    pid, core = busy_core
    read = PROCESSES.open(Host())
    first = read().value
    assert first
    assert first.count >= 2
    assert first.tasks == ()
    time.sleep(0.3)
    second = read().value
    assert second
    (task,) = [task for task in second.tasks if task.pid == pid]
    assert (task.tid, task.core) == (pid, core)
    assert task.comm == "sh"
    assert 0 < task.user_ticks + task.system_ticks <= TICKS_PER_SECOND * 2


def test_this_machine_sees_a_child_that_ended() -> None:
    read = PROCESSES.open(Host())
    read()
    subprocess.run(["timeout", "0.2", "sh", "-c", "while :; do :; done"], check=False)
    processes = read().value
    assert processes
    (ended,) = [children for children in processes.ended if children.pid == os.getpid()]
    assert ended.comm == Path("/proc/self/comm").read_text().rstrip("\n")
    assert 0 < ended.ticks <= TICKS_PER_SECOND
