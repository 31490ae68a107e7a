"""Real recorders: started as an operator would, in a process of their own, and ended whatever happens.

    with recording(store, "--segment", "10s") as one:
        ...
        code, body = one.end()

Needs    root and perf, for samples
Costs    1.7 s until the first second is on disk, 1.5 s to end (measured on two cores)
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.running.processes import END_WITH_PARENT
from necroscope.sources.cores import CORES
from necroscope.store.read_range import read_moments
from necroscope.store.store import Store, StoredSegment

PROGRAM = Path(sys.executable).with_name("necroscope")
END_SECONDS = 120.0
BEGIN_SECONDS = 60.0  # far longer than it takes: another run may have all cores
LOOK_SECONDS = 0.05
MARK = "NECROSCOPE_LAB_RECORDER"  # in the environment of a recorder, and so of what it starts


class RecorderError(RuntimeError):
    """A recorder that ended too early, or not as it should; the message holds what it said."""


def why_not() -> str | None:
    """Why nothing can be recorded with samples here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    return None if shutil.which("perf") else "needs perf"


def wait_until(condition: Callable[[], object], seconds: float, what: str | Callable[[], str]) -> None:
    """Wait for something that must come; what did not come is told as it is in the end."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            words = what if isinstance(what, str) else what()
            raise TimeoutError(f"{words}: not within {seconds:g} s")
        time.sleep(LOOK_SECONDS)


@dataclass(slots=True)
class Recorder:
    """A recorder at work in a process of its own."""

    process: subprocess.Popen[bytes]
    store: Path
    notes: Path  # what it says on stderr
    output: Path

    @property
    def pid(self) -> int:
        """Its process."""
        return self.process.pid

    def said(self) -> str:
        """All that it told a person until now."""
        return self.notes.read_text()

    def child(self, word: str) -> int | None:
        """A child with a word in its command line: `record` is perf, `seal` the sealing child."""
        return next((pid for pid in children_of(self.pid) if word in command_line(pid)[1:]), None)

    def wait_for(self, text: str, seconds: float = 20) -> None:
        """Wait until it says something."""
        wait_until(lambda: text in self.said(), seconds, lambda: f"'{text}' in {self.said()!r}")

    def is_recording(self, *, samples: bool) -> bool:
        """Whether its first second is on disk, and where perf writes is known."""
        if self.process.poll() is not None:
            raise RecorderError(f"the recorder ended with {self.process.returncode}: {self.said()}")
        return any(
            segment.is_open
            and segment.description.recorder.pid == self.pid
            and read_moments(segment, (CORES,))
            and (segment.capture.exists() or not samples)
            for segment in segments_of(self.store)
        )

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, dict[str, Any]]:
        """Ask it to end: its exit code and its answer."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> tuple[int, dict[str, Any]]:
        """Its exit code and its answer, once it ends."""
        code = self.process.wait(END_SECONDS)
        return code, json.loads(self.output.read_text())

    def kill(self) -> None:
        """kill -9, and wait until nobody holds the folder any more."""
        self.process.kill()
        self.process.wait()


@contextmanager
def recorder(store: Path, *words: str, wrapper: tuple[str, ...] = ()) -> Iterator[Recorder]:
    """Start a recorder through a wrapper that execs it; it and its children have ended when this returns.

    It has a session of its own: a Ctrl-C is for us, who then end it. If we are killed, so is it.
    """
    store.parent.mkdir(parents=True, exist_ok=True)
    number = len(list(store.parent.glob("stderr.*")))
    notes, output = store.parent / f"stderr.{number}", store.parent / f"stdout.{number}"
    mark = uuid.uuid4().hex
    end_with_parent = END_WITH_PARENT if shutil.which(END_WITH_PARENT[0]) else ()
    command = [*wrapper, *end_with_parent, str(PROGRAM), "record", "--json", "--store", str(store), *words]
    with notes.open("wb") as stderr, output.open("wb") as stdout:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=os.environ | {MARK: mark},
            start_new_session=True,
        )
    try:
        yield Recorder(process, store, notes, output)
    finally:
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
        process.kill()
        process.wait()
        _end_those_left(_started_with(mark))


@contextmanager
def recording(
    store: Path, *words: str, samples: bool = True, wrapper: tuple[str, ...] = ()
) -> Iterator[Recorder]:
    """A recorder that has begun."""
    with recorder(store, *words, wrapper=wrapper) as one:
        wait_until(lambda: one.is_recording(samples=samples), BEGIN_SECONDS, "a recorder that records")
        yield one


def children_of(pid: int) -> set[int]:
    """The processes that a process has started and not yet waited for."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.add(int(path.parent.name))
    return found


def command_line(pid: int) -> list[str]:
    """The words of a process; none of one that has gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


def works_on(store: Path) -> set[int]:
    """The processes, orphans too, that have a store in their command line; ourselves are left out."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return {
        pid for pid in pids if pid != os.getpid() and any(str(store) in word for word in command_line(pid))
    }


def _started_with(mark: str) -> set[int]:
    """What a recorder started: its children have sessions of their own, and its path others may name too."""
    word, found = f"{MARK}={mark}", set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if word in path.read_text(errors="replace").split("\0"):
                found.add(int(path.parent.name))
    return found


def _end_those_left(pids: set[int]) -> None:
    """perf and sealing children end by themselves when their recorder was killed."""
    deadline = time.monotonic() + 15
    while any(command_line(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    for pid in pids:
        if command_line(pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def segments_of(store: Path) -> list[StoredSegment]:
    """All segments, in the order in which they were recorded."""
    return sorted(Store(store).segments(), key=lambda s: (s.begin_ns - s.offset_ns, s.folder.name))
