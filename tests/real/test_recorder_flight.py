"""Flight mode: nothing is written until something happens, and then what was before it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lab.faults import kernel_lines
from lab.faults.hogs import user_hog
from lab.faults.kernel_lines import TRUST, write_lines
from necroscope.store.store import read_document
from tests.real import recorders
from tests.real.recorders import (
    SECOND_NS,
    Recorder,
    events_of,
    metrics,
    recorder,
    require_all_open,
    require_tidy,
    seconds_with_counters,
    segments_of,
    wait_until,
)

REASON = recorders.why_not() or kernel_lines.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
EXAMINED = "necroscope_findings_examined_timestamp_seconds"
HEADS_BYTES = 64 << 10  # perf's file before any sample, our lock; the kernel's symbols are saved once a boot


def written_bytes(store: Path) -> int:
    """All that is in a store but the kernel's symbols."""
    files = [path for path in store.rglob("*") if path.is_file() and ".kallsyms" not in path.parts]
    return sum(path.stat().st_size for path in files)


def is_flying(one: Recorder) -> bool:
    assert one.process.poll() is None, one.said()
    return one.child("record") is not None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("necroscope mark: flight {}", "user-mark"),
        pytest.param(
            "NETDEV WATCHDOG: necro{} (igb): transmit queue 2 timed out",
            "nic-reset",
            marks=pytest.mark.servers,
        ),
    ],
)
def test_nothing_is_written_until_an_event_then_what_was_before_it(
    tmp_path: Path, line: str, kind: str
) -> None:
    store = tmp_path / "store"
    words = ("--flight", "--segment", "20s", "--listen", "127.0.0.1:0", TRUST)
    with user_hog(1), recorder(store, *words) as one:
        wait_until(lambda: is_flying(one), 20, "perf in flight")
        time.sleep(6)
        wait_until(lambda: EXAMINED in metrics(one), 20, "findings without a segment")
        quiet = written_bytes(store)
        assert segments_of(store) == [] and quiet < HEADS_BYTES
        wrote = time.time_ns()
        write_lines([line.format(os.getpid())])
        wait_until(lambda: [s for s in segments_of(store) if not s.is_open], 20, "a sealed segment")
        time.sleep(2)
        code, body = one.end()
    assert (code, body["findings"]) == (0, []), one.said()
    (segment,) = segments_of(store)
    (event,) = events_of(store, kind)
    assert abs(event.utc_ns - wrote) < SECOND_NS / 2
    there = seconds_with_counters(store)
    assert set(range(wrote // SECOND_NS - 4, wrote // SECOND_NS + 2)) <= there
    profile = read_document(segment.folder)["profile"]
    assert profile["begin_ns"] + segment.offset_ns < wrote - 3 * SECOND_NS, "samples of the seconds before"
    assert profile["end_ns"] + segment.offset_ns > wrote, "and of what came after"
    assert profile["per_core"][1][1] > 97 * 5
    require_all_open(store)
    require_tidy(store)


def test_a_flight_without_an_event_leaves_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with recorder(store, "--flight", "-d", "4s") as one:
        code, body = one.wait()
    assert (code, body["findings"]) == (0, []), one.said()
    assert segments_of(store) == []
    assert written_bytes(store) < 1024
    require_tidy(store)
