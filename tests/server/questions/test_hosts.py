from __future__ import annotations

import time
from pathlib import Path

from necroscope import __version__
from necroscope.server.questions.hosts import ask_hosts
from necroscope.server.questions.recorded_store import RecordedStore
from tests.stored import UTC_NS, anchor_at, open_segment, sealed_segment, seconds_of

MOMENTS = seconds_of(["idle"] * 9)


def test_a_host_and_the_time_it_was_recorded(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS[:4])
    sealed_segment(tmp_path, MOMENTS[3:])
    answer = ask_hosts(RecordedStore(tmp_path))
    (host,) = answer.hosts
    assert (host.name, host.cores, host.segments, host.is_live) == ("node-17", 2, 2, False)
    assert (host.begin_us, host.end_us) == (UTC_NS // 1000, UTC_NS // 1000 + 9_000_000)
    assert host.labels == {"boot_id": "5c1f5f0e-0000-4000-8000-000000000001"}
    assert answer.version == __version__
    assert abs(answer.now_us - time.time() * 1e6) < 60e6


def test_a_recorder_that_writes_now_is_live(tmp_path: Path) -> None:
    now_ns = time.time_ns()
    anchor = anchor_at(MOMENTS[0].time_ns, now_ns - MOMENTS[-1].time_ns)
    open_segment(tmp_path, MOMENTS, anchor=anchor, host="running")
    stopped = anchor_at(MOMENTS[0].time_ns, now_ns - MOMENTS[-1].time_ns - 30 * 10**9)
    open_segment(tmp_path, MOMENTS, anchor=stopped, host="killed")
    live = {host.name: host.is_live for host in ask_hosts(RecordedStore(tmp_path)).hosts}
    assert live == {"running": True, "killed": False}


def test_damage_is_told(tmp_path: Path) -> None:
    bad = sealed_segment(tmp_path, MOMENTS).folder
    (bad / "segment.json").write_text('{"schema": 1, "files": [null]}')
    answer = ask_hosts(RecordedStore(tmp_path))
    assert answer.hosts == [] and len(answer.damaged) == 1
    assert "remove its folder" in answer.damaged[0].hint
