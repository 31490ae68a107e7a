"""What a recorder has of the machine, looked at from outside.

Reads    /proc/PID of the recorder and of its perf, its metrics, the store, tracefs, temporary files
Costs    about 10 ms a look (measured)
"""

from __future__ import annotations

import os
import re
import tempfile
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lab.recorders import Recorder, RecorderError, children_of

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
INSTANCES = Path("/sys/kernel/tracing/instances")
ANONYMOUS = re.compile(r"^Anonymous:\s+(\d+) kB$", re.MULTILINE)
PORT = re.compile(r"metrics on port (\d+)")
HEAD_BYTES = 4096  # of what it says: the port is among the first lines, and marks fill the rest
# What is made on the way to something else, in the store and where perf and Python put such files.
HALF_DONE = ("*/*/*.partial", "*/*/*/*.partial", "*/.going-*", "*/.making-*", "*/.capture/*/*")
TEMPORARY = ("perf-vdso*", "necroscope*")


@dataclass(frozen=True, slots=True)
class Look:
    """All that could grow, at one moment."""

    seconds: float  # CLOCK_MONOTONIC
    resident_bytes: int
    anonymous_bytes: int  # its own; file pages count for less as others map them too
    descriptors: int
    threads: int
    children: int  # perf, and the sealing child where there is one
    temporary_files: int
    trace_instances: int
    metrics: int  # series that Prometheus sees
    perf_resident_bytes: int
    cpu_seconds: float  # of the recorder, of its children that have ended, and of perf


def look(recorder: Recorder, seconds: float) -> Look:
    """Look now."""
    pid, perf = recorder.pid, recorder.child("record")
    own = Path(f"/proc/{pid}")
    anonymous = ANONYMOUS.search((own / "smaps_rollup").read_text())
    return Look(
        seconds=seconds,
        resident_bytes=_resident_bytes(pid),
        anonymous_bytes=int(anonymous[1]) * 1024 if anonymous else 0,
        descriptors=sum(1 for _ in (own / "fd").iterdir()),
        threads=sum(1 for _ in (own / "task").iterdir()),
        children=len(children_of(pid)),
        temporary_files=len(half_done(recorder.store)) + _temporary_files(),
        trace_instances=trace_instances(pid),
        metrics=_metrics(recorder),
        perf_resident_bytes=_resident_bytes(perf) if perf else 0,
        cpu_seconds=round(_cpu_seconds(pid) + (_cpu_seconds(perf) if perf else 0.0), 2),
    )


def half_done(store: Path) -> list[str]:
    """What is on its way, or was left on it."""
    return sorted(str(path.relative_to(store)) for pattern in HALF_DONE for path in store.glob(pattern))


def trace_instances(pid: int) -> int:
    """Those in tracefs that carry the number of a process."""
    return sum(1 for path in INSTANCES.glob("necroscope-*") if path.name.split("-")[1] == str(pid))


def _metrics(recorder: Recorder) -> int:
    """Ask as Prometheus does."""
    with recorder.notes.open() as notes:
        port = PORT.search(notes.read(HEAD_BYTES))
    if port is None:
        raise RecorderError("it does not say where its metrics are")
    with urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(1 for line in lines if line and not line.startswith("#"))


def _temporary_files() -> int:
    folder = Path(tempfile.gettempdir())
    return sum(1 for pattern in TEMPORARY for _ in folder.glob(pattern))


def _resident_bytes(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    return 0


def _cpu_seconds(pid: int) -> float:
    """With its children's that it has waited for."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICKS_PER_SECOND
    return 0.0
