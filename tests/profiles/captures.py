"""Captures for the tests beside this file: perf records while something runs, then it is imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from necroscope import _native
from necroscope.profiles.idle import idle_rule


def require_perf() -> None:
    """Skip, with the reason, if perf is missing or may not record all cores."""
    if reason := _why_not_perf():
        pytest.skip(reason)


@cache
def _why_not_perf() -> str:
    if shutil.which("perf") is None:
        return "perf is not installed"
    if os.geteuid() != 0:
        return "recording all cores needs root"
    tried = run_perf(["perf", "record", "-q", "-B", "-a", "-g", "-o", "/dev/null", "--", "true"])
    return f"perf record -a -g is not permitted here: {tried.stderr.strip()}" if tried.returncode else ""


def run_perf(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run perf; again where it aborts, as perf 6.1 was seen to do here now and then."""
    for _ in range(5):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode >= 0:
            break
    return done


@contextmanager
def running(*commands: Sequence[str]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run commands side by side; they are stopped on leaving."""
    quiet = subprocess.DEVNULL
    started = [subprocess.Popen(command, stdout=quiet, stderr=quiet) for command in commands]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def record(path: Path, seconds: float, *options: str) -> None:
    """Record all cores with stacks for some seconds."""
    # -B: perf 6.1 aborts at the end on a machine that has a build id of more than 20 bytes.
    command = ["perf", "record", "-q", "-B", "-a", "-g", *options, "-o", str(path)]
    command += ["--", "sleep", str(seconds)]
    run_perf(command).check_returncode()


def save_kallsyms(path: Path) -> Path:
    """A copy of this boot's kernel symbols."""
    path.write_bytes(Path("/proc/kallsyms").read_bytes())
    return path


def import_capture(path: Path, folder: Path, kallsyms: Path) -> tuple[dict[str, Any], _native.Profile]:
    """Import a capture with the shipped idle rule: what was in it, and the profile."""
    folder.mkdir()
    rule = idle_rule()
    facts = _native.import_perf_data(
        path, folder, kallsyms=kallsyms, root="/", idle=list(rule.idle), interrupt=list(rule.interrupt)
    )
    return facts, _native.Profile(folder)


def folded(
    profile: _native.Profile,
    *,
    cpus: Sequence[int] = (),
    threads: Sequence[str] = (),
    span: tuple[int, int] | None = None,
    idle: bool = True,
    split: str = "comm",
) -> list[tuple[list[str], int]]:
    """Stacks of a profile, outermost first, under the thread's name."""
    begin, end = span or profile.span() or (0, 0)
    query = _native.Query(
        begin,
        end if span else end + 1,
        cpus=list(cpus),
        processes=[],
        threads=list(threads),
        events=[],
        idle=idle,
    )
    window = _native.Window()
    window.add(profile, query, split)
    return window.folded()


def wait_until(ready: Path, seconds: float = 5) -> None:
    """Wait for a file to appear."""
    end = time.monotonic() + seconds
    while not ready.exists() and time.monotonic() < end:
        time.sleep(0.01)
