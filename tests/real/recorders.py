"""Real recorders: started as an operator would, watched from outside, and what they left in their stores."""

from __future__ import annotations

import json
import re
import urllib.request
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from lab.recorders import (
    Recorder,
    children_of,
    command_line,
    recorder,
    recording,
    segments_of,
    wait_until,
    why_not,
    works_on,
)
from necroscope import _native
from necroscope.cli.main import main
from necroscope.sources.cores import CORES
from necroscope.store.read_range import read_moments
from necroscope.store.stored_events import StoredEvent, read_events

__all__ = [
    "Recorder",
    "ask",
    "children_of",
    "clock_samples",
    "command_line",
    "events_of",
    "metrics",
    "recorder",
    "recording",
    "require_all_open",
    "require_tidy",
    "samples_by_second",
    "seconds_with_counters",
    "segments_of",
    "try_asking",
    "wait_until",
    "why_not",
    "works_on",
]
SECOND_NS = 10**9


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
