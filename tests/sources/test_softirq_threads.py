from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThread, parse_run_delay
from tests.sources.conftest import Content, Deny, Tree

OF_THE_KERNEL, OF_A_PROGRAM = 69238848, 4194560  # flags, with and without PF_KTHREAD


def thread(
    pid: int, comm: str, schedstat: str = "86093441 20451127 2154\n", flags: int = OF_THE_KERNEL
) -> dict[str, Content]:
    return {
        f"/proc/{pid}/comm": f"{comm}\n",
        f"/proc/{pid}/stat": f"{pid} ({comm}) S 2 0 0 0 -1 {flags} 0 0 0 0 0 4 0 0\n",
        f"/proc/{pid}/schedstat": schedstat,
    }


FILES = {
    **thread(14, "ksoftirqd/0"),
    **thread(22, "ksoftirqd/95"),
    **thread(1, "systemd", flags=OF_A_PROGRAM),
    **thread(7, "kworker/0:1"),
}


def test_one_thread_a_core(tree: Tree) -> None:
    assert SOFTIRQ_THREADS.open(tree({**FILES, "/proc/stat": "cpu\n"}))().value == (
        SoftirqThread(14, "ksoftirqd/0", 0, 20451127),
        SoftirqThread(22, "ksoftirqd/95", 95, 20451127),
    )


def test_a_process_that_only_has_the_name(tree: Tree) -> None:
    """Anybody may call a process so, with flags in the name."""
    names = ("ksoftirqd/7", "napi/x-1", "napi/) S 2 0 0 0 -1 69238848-1")
    mine = [thread(4711 + n, name, flags=OF_A_PROGRAM) for n, name in enumerate(names)]
    host = tree(
        {**FILES, **mine[0], **mine[1], **mine[2], **thread(22222, "ksoftirqd/2", flags=OF_A_PROGRAM)}
    )
    threads = SOFTIRQ_THREADS.open(host)().value
    assert threads
    assert [one.pid for one in threads] == [14, 22]


@pytest.mark.parametrize("stat", ["", "14 (ksoftirqd/0", "14 (ksoftirqd/0) S\n", b"\xff\xfe\x00"])
def test_a_stat_file_that_no_kernel_writes(tree: Tree, stat: str | bytes) -> None:
    host = tree({**FILES, "/proc/14/stat": stat})
    threads = SOFTIRQ_THREADS.open(host)().value
    assert threads
    assert [one.pid for one in threads] == [22]


def test_threaded_napi_has_threads_of_its_own(tree: Tree) -> None:
    """They belong to no core, and a reset of the device puts others in their place."""
    host = tree({**thread(14, "ksoftirqd/0"), **thread(300, "napi/eth0-8193")})
    read = SOFTIRQ_THREADS.open(host)
    assert read().value == (
        SoftirqThread(14, "ksoftirqd/0", 0, 20451127),
        SoftirqThread(300, "napi/eth0-8193", None, 20451127),
    )
    shutil.rmtree(host.path("/proc/300"))
    tree(thread(301, "napi/eth0-8194", "1 2 3\n"))
    assert read().value == (
        SoftirqThread(14, "ksoftirqd/0", 0, 20451127),
        SoftirqThread(301, "napi/eth0-8194", None, 2),
    )


def test_a_kernel_that_does_not_keep_the_times(tree: Tree) -> None:
    """Linux 5.4 without schedstats and delayacct writes zeros, which are not times."""
    zeros = {**thread(14, "ksoftirqd/0", "0 0 0\n"), **thread(22, "ksoftirqd/1", "0 0 0\n")}
    reading = SOFTIRQ_THREADS.open(tree(zeros))()
    assert reading.absence is Absence.SWITCHED_OFF
    assert "/proc/14/schedstat" in reading.detail


def test_a_core_that_never_waited(tree: Tree) -> None:
    reading = SOFTIRQ_THREADS.open(
        tree({**thread(14, "ksoftirqd/0", "5 0 1\n"), **thread(22, "ksoftirqd/1", "0 0 0\n")})
    )()
    assert reading.value
    assert [one.run_delay_ns for one in reading.value] == [0, 0]


@pytest.mark.parametrize("text", ["", "1 2\n", "1 2 3 4\n", "a b c\n", "86093441 2045", "1 2 3\n4 5 6\n"])
def test_what_no_kernel_writes(text: str) -> None:
    with pytest.raises(ValueError, match=r"fields|invalid|empty|middle|lines"):
        parse_run_delay(text)


def test_no_thread_to_see(tree: Tree, tmp_path: Path, deny: Deny) -> None:
    """In a container without the host's processes."""
    read = SOFTIRQ_THREADS.open(tree(thread(1, "sh", flags=OF_A_PROGRAM)))
    assert read().detail == "no ksoftirqd thread is visible in /proc"
    assert read().absence is Absence.NOT_SUPPORTED
    deny(f"{tmp_path}/proc")
    assert SOFTIRQ_THREADS.open(Host(tmp_path))().absence is Absence.NOT_PERMITTED


def test_processes_that_are_hidden(tree: Tree, deny: Deny) -> None:
    hidden = (Absence.NOT_PERMITTED, "/proc hides other users' processes")
    reading = SOFTIRQ_THREADS.open(tree(thread(4711, "sh", flags=OF_A_PROGRAM)))()  # hidepid=2
    assert (reading.absence, reading.detail) == hidden
    host = tree(thread(1, "systemd", flags=OF_A_PROGRAM))
    deny("/proc/1/stat")
    reading = SOFTIRQ_THREADS.open(host)()  # hidepid=1
    assert (reading.absence, reading.detail) == hidden
