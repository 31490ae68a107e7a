"""The program that node-problem-detector runs counts what we count, on real cgroups and with any shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import pytest

from lab.faults.zombies import HIERARCHY, in_use, tracked, why_not, zombies
from necroscope.kubernetes import npd

PROGRAM = Path(str(files("necroscope.kubernetes"))) / "programs" / npd.ZOMBIES_PROGRAM
SHELLS = [["dash"], ["bash", "--posix"], ["busybox", "sh"]]
OK, PROBLEM, UNKNOWN = 0, 1, 2

with_cgroups = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


def run(*words: str, shell: list[str], env: Mapping[str, str] | None = None) -> tuple[int, str]:
    if not shutil.which(shell[0]):
        pytest.skip(f"needs {shell[0]}")
    done = subprocess.run(
        [*shell, str(PROGRAM), *words], capture_output=True, text=True, env=env, check=False
    )
    assert not done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert len(done.stdout) <= npd.MAX_OUTPUT
    return done.returncode, done.stdout.strip()


def settled_zombies() -> int:
    """Return how many zombies there are, once the kernel has freed what others released before."""
    now = -1
    for _ in range(40):
        before, now = now, tracked() - in_use()
        if now == before:
            return now
        time.sleep(0.5)
    raise TimeoutError("the number of zombies changes all the time")


@with_cgroups
@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_real_zombies_are_counted(shell: list[str]) -> None:
    before = settled_zombies()
    with zombies(60):
        code, said = run(str(before + 50), shell=shell)
        assert code == PROBLEM, said
        assert abs(int(said.split()[0]) - before - 60) < 10
        assert run(str(before + 100), shell=shell)[0] == OK
        assert run(str(before + 50), "/", shell=shell)[0] == PROBLEM


@with_cgroups
def test_in_a_cgroup_namespace_nothing_is_invented(tmp_path: Path) -> None:
    """A pod sees its own part of the hierarchy, and the kernel's count is of all."""
    part = HIERARCHY / f"necroscope-test-{os.getpid()}"
    mount = tmp_path / "sys/fs/cgroup/memory"
    mount.mkdir(parents=True)
    part.mkdir()
    inside = 'mount -t cgroup -o memory none "$2" && sh "$0" 5 "$1"'
    outside = f"echo $$ >{part}/cgroup.procs && exec unshare -C -m sh -c '{inside}' \"$@\""
    try:
        done = subprocess.run(
            ["sh", "-c", outside, "sh", str(PROGRAM), str(tmp_path), str(mount)],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        part.rmdir()
    assert (done.returncode, done.stdout) == (
        UNKNOWN,
        "zombie memory cgroups cannot be counted: mount the host's cgroups\n",
    )


@pytest.mark.parametrize(
    ("stat", "answer"),
    [
        (
            "nr_descendants 40\nnr_dying_descendants 1200\n",
            (PROBLEM, "1200 zombie memory cgroups (limit 1000)"),
        ),
        (
            "nr_descendants 40\nnr_subsys_memory 9\nnr_dying_descendants 1200\nnr_dying_subsys_memory 7\n"
            "nr_dying_subsys_io 1190\n",
            (OK, "7 zombie memory cgroups"),
        ),
        ("", (UNKNOWN, "zombie memory cgroups cannot be counted: cgroup.stat has no count")),
    ],
)
@pytest.mark.parametrize("below", ["", "unified"])
def test_the_kernels_count_of_v2(tmp_path: Path, stat: str, answer: tuple[int, str], below: str) -> None:
    """Files as of cgroup v2, and a stand-in for ls that says they are a root; guests have real ones."""
    folder = tmp_path / "host/sys/fs/cgroup" / below
    folder.mkdir(parents=True)
    (folder / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")
    (folder / "cgroup.stat").write_text(stat)
    (tmp_path / "ls").write_text('#!/bin/sh\necho "      1 $2"\n')
    (tmp_path / "ls").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert run("1000", str(tmp_path / "host"), shell=["dash"], env=env) == answer


@pytest.mark.parametrize("words", [[], ["many"], ["-5"], ["1000", "/nowhere"]])
def test_what_cannot_be_told_is_unknown(words: list[str]) -> None:
    assert run(*words, shell=["dash"])[0] == UNKNOWN
