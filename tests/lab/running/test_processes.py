"""Whose a process is, and what it carries."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.machines import nspawn
from lab.running.processes import (
    MARK,
    lab_names_in_use,
    mark_environment,
    marked,
    others_than_run,
    read_process,
    read_processes,
)
from lab.training.cluster import environment

WHY_NO_CONTAINER = nspawn.why_not()
ORPHAN = """
import subprocess, sys
words = ["sh", "-c", "sleep 100; :", sys.argv[1]]
print(subprocess.Popen(words, stdout=-3, stderr=-3, start_new_session=True).pid)
"""


@contextmanager
def orphan(name: str, mark: str) -> Iterator[int]:
    """A process that nobody of this test is above of, with a name in its command line."""
    words, marks = [sys.executable, "-c", ORPHAN, name], {MARK: mark} if mark else {}
    pid = int(subprocess.run(words, env=marks, capture_output=True, check=True).stdout)
    try:
        yield pid
    finally:
        os.killpg(pid, signal.SIGKILL)


def test_the_mark_is_handed_to_what_has_an_environment_of_its_own(tmp_path: Path) -> None:
    assert mark_environment() == {} and MARK not in environment(tmp_path)
    with marked("1-1"):
        assert environment(tmp_path)[MARK] == "1-1"


@pytest.mark.skipif(WHY_NO_CONTAINER is not None, reason=str(WHY_NO_CONTAINER))
def test_a_container_carries_the_mark(tmp_path: Path) -> None:
    with marked("1-1"), nspawn.Container() as machine:
        assert f"{MARK}=1-1\n" in machine.run(["env"]).stdout
        carriers = [one for pid, one in read_processes().items() if _has_mark(pid, "1-1")]
        assert "systemd-nspawn" in {one.comm for one in carriers}


def test_an_orphan_of_the_run_excuses_no_name() -> None:
    before = read_processes()
    with orphan("lab-orphan-name", "1-1") as pid:
        after = read_processes()
        assert pid in after and pid not in others_than_run(before, after, "1-1")
    with orphan("lab-orphan-name", "") as pid:  # nobody knows whose
        after = read_processes()
        others = others_than_run(before, after, "1-1")
        assert pid in after and pid not in others and "lab-orphan-name" not in lab_names_in_use(others)


def test_what_was_there_before_or_has_the_mark_of_another_runner_is_somebody_elses() -> None:
    with subprocess.Popen(["sleep", "100"]) as runner:
        one = read_process(runner.pid)
        assert one
        before = read_processes()
        with orphan("lab-others-name", f"{one.pid}-{one.start_ticks}") as pid:
            after = read_processes()
            others = others_than_run(before, after, "1-1")
            assert {pid, runner.pid} <= set(others)
            assert "lab-others-name" in lab_names_in_use(others)
        runner.kill()


def test_the_tracefs_instance_of_a_process_has_its_number() -> None:
    with subprocess.Popen(["sleep", "100"]) as other:
        assert f"necroscope-{other.pid}" in lab_names_in_use(read_processes())
        other.kill()
    assert f"necroscope-{other.pid}" not in lab_names_in_use(read_processes())


def test_we_ourselves_excuse_nothing() -> None:
    processes = read_processes()
    assert os.getpid() not in others_than_run(processes, processes, "1-1")


def _has_mark(pid: int, mark: str) -> bool:
    try:
        return f"{MARK}={mark}" in Path(f"/proc/{pid}/environ").read_text(errors="replace").split("\0")
    except OSError:
        return False
