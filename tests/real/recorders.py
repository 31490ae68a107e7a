"""Real recorders: started as an operator would, watched from outside, and what they left in their stores."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from necroscope import _native
from necroscope.cli.main import main
from necroscope.recording.store import Store, StoredSegment
from necroscope.recording.stored_events import StoredEvent, read_events
from necroscope.recording.stretch import read_moments
from necroscope.sources.cores import CORES

PROGRAM = Path(sys.executable).with_name("necroscope")
SECOND_NS = 10**9
END_SECONDS = 120.0


def why_not() -> str | None:
    """Why nothing can be recorded with samples here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    return None if shutil.which("perf") else "needs perf"


def wait_until(condition: Callable[[], object], seconds: float, what: str) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.005)


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
        wait_until(lambda: text in self.said(), seconds, f"'{text}' in {self.said()!r}")

    def is_recording(self, *, samples: bool) -> bool:
        """Whether its first second is on disk, and where perf writes is known."""
        assert self.process.poll() is None, self.said()
        return any(
            segment.is_open
            and segment.description["recorder"]["pid"] == self.pid
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
    """Start a recorder; it and its children are gone in the end, whatever happens."""
    store.parent.mkdir(parents=True, exist_ok=True)
    number = len(list(store.parent.glob("stderr.*")))
    notes, output = store.parent / f"stderr.{number}", store.parent / f"stdout.{number}"
    others = works_on(store)
    command = [*wrapper, str(PROGRAM), "record", "--json", "--store", str(store), *words]
    with notes.open("wb") as stderr, output.open("wb") as stdout:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
    try:
        yield Recorder(process, store, notes, output)
    finally:
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
        process.kill()
        process.wait()
        _end_those_left(works_on(store) - others)


@contextmanager
def recording(store: Path, *words: str, samples: bool = True) -> Iterator[Recorder]:
    """A recorder that has begun."""
    with recorder(store, *words) as one:
        wait_until(lambda: one.is_recording(samples=samples), 20, "a recorder that records")
        yield one


def ask(*words: str) -> dict[str, Any]:
    """The JSON that a verb answers; it must succeed."""
    code, body = try_asking(*words)
    assert code in (0, 1), (words, body)
    return body


def try_asking(*words: str) -> tuple[int, dict[str, Any]]:
    """The exit code of a verb and its JSON."""
    text = StringIO()
    with redirect_stdout(text), redirect_stderr(StringIO()):
        code = main([*words, "--json"])
    body: dict[str, Any] = json.loads(text.getvalue())
    return code, body


def metrics(one: Recorder) -> dict[str, float]:
    """What Prometheus sees of a recorder that was started with --listen 127.0.0.1:0."""
    port = re.search(r"metrics on port (\d+)", one.said())
    assert port, one.said()
    with urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    rows = [line.rpartition(" ") for line in lines if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in rows}


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


def events_of(store: Path, kind: str = "") -> list[StoredEvent]:
    """All events, or those of one kind."""
    found = [event for segment in segments_of(store) for event in read_events(segment)]
    return [event for event in found if kind in ("", event.event.kind)]


def seconds_with_counters(store: Path) -> set[int]:
    """The whole seconds (UTC) at whose end the cores were read."""
    return {
        round((moment.time_ns + segment.offset_ns) / SECOND_NS)
        for segment in segments_of(store)
        for moment in read_moments(segment, (CORES,))
    }


def samples_by_second(store: Path, begin_s: int, end_s: int) -> dict[tuple[int, int], int]:
    """Samples of sealed segments by second (UTC) and core."""
    counts: dict[tuple[int, int], int] = {}
    for segment in segments_of(store):
        if segment.has_profile:
            begin_ns = begin_s * SECOND_NS - segment.offset_ns
            end_ns = end_s * SECOND_NS - segment.offset_ns
            profile = _native.Profile(segment.profile)
            columns, rows, cells = profile.cores(clock_samples(begin_ns, end_ns), SECOND_NS)
            for place, count in enumerate(cells):
                key = begin_s + place // rows, place % rows
                counts[key] = counts.get(key, 0) + count
            assert len(cells) == columns * rows
    return counts


def clock_samples(begin_ns: int, end_ns: int) -> _native.Query:
    """All samples of the clock in a range, those of idle cores too."""
    events = ["cpu-clock", "cycles"]
    return _native.Query(begin_ns, end_ns, cpus=[], processes=[], threads=[], events=events, idle=True)


def require_all_open(store: Path) -> None:
    """Every segment can be looked at by itself, in every way."""
    for segment in segments_of(store):
        begin, end = f"{segment.begin_ns / 1e9:.9f}", f"{segment.end_ns / 1e9:.9f}"
        if segment.end_ns - segment.begin_ns >= 2 * 10**9:  # else it may have no whole second to draw
            ask("timeline", "--store", str(store), "-b", begin, "-e", end)
            ask("events", "--store", str(store), "-b", begin, "-e", end)
        if segment.has_profile:
            body = ask("flame", "--store", str(store), "-b", begin, "-e", end, "--idle")
            assert body["samples"], segment.folder


def require_tidy(store: Path) -> None:
    """Nothing is left half done after a recorder that ended as it should."""
    assert [s.folder.name for s in segments_of(store) if s.is_open] == []
    assert list(store.glob("*/*/journal.frames")) == []
    assert list(store.glob("*/.capture/*/*")) == []
    assert list(store.glob("*/*/*.partial")) == []
