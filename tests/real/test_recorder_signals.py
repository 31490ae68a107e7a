"""What signals do to a recorder, who holds a store, what Prometheus sees, and life without root."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.faults.kernel_lines import write_lines
from tests.real import recorders
from tests.real.recorders import (
    Recorder,
    command_line,
    events_of,
    metrics,
    recorder,
    recording,
    require_all_open,
    require_tidy,
    seconds_with_counters,
    segments_of,
    wait_until,
)
from tests.unprivileged import as_nobody, folder_of_nobody

REASON = recorders.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_seals_and_keeps(tmp_path: Path, number: signal.Signals) -> None:
    store = tmp_path / "store"
    with recording(store, "--segment", "3s") as one:
        began = time.time()
        time.sleep(4.2)
        ended = time.time()
        code, body = one.end(number)
    assert (code, body["ok"], body["findings"]) == (0, True, []), one.said()
    assert set(range(int(began) + 1, int(ended))) <= seconds_with_counters(store)
    assert all(segment.has_profile for segment in segments_of(store))
    require_tidy(store)
    require_all_open(store)


def rate_of(one: Recorder) -> str:
    """What perf was asked for."""
    words = command_line(one.child("record") or 0)
    return words[words.index("-F") + 1] if "-F" in words else ""


def test_a_hangup_reads_the_configuration_again_and_refuses_a_broken_one(tmp_path: Path) -> None:
    store, config = tmp_path / "store", tmp_path / "config.toml"
    config.write_text('[record]\nsegment = "60s"\n')
    with recording(store, "--config", str(config)) as one:
        assert rate_of(one) == "97"
        config.write_text('[record]\nsegment = "2s"\nrate = 197\nbudget = "77MiB"\n')
        one.process.send_signal(signal.SIGHUP)
        one.wait_for("the configuration is reloaded")
        wait_until(lambda: rate_of(one) == "197", 15, "perf at the new rate alone")
        wait_until(lambda: str(77 << 20) in command_line(one.child("seal") or 0), 15, "the new budget")
        config.write_text('[record]\nrate = "a lot"\n')
        one.process.send_signal(signal.SIGHUP)
        one.wait_for("the configuration is not reloaded")
        time.sleep(3)
        assert rate_of(one) == "197"
        code, body = one.end()
    assert (code, body["gaps"]) == (0, 0), one.said()
    lengths = [(s.end_ns - s.begin_ns) / 1e9 for s in segments_of(store)]
    assert len(lengths) >= 3 and all(length < 3.5 for length in lengths[1:]), lengths
    require_all_open(store)
    require_tidy(store)


def test_the_second_recorder_of_a_store_is_told_who_the_first_is(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with recording(store, "--rate", "0", samples=False) as one:
        with recorder(store, "-d", "2s") as other:
            code, body = other.wait()
        assert one.process.poll() is None
        assert code == 2
        assert f"pid {one.pid}," in other.said()
        assert body["ok"] is False and f"pid {one.pid}," in body["error"]["what"]
        code, _ = one.end()
    assert code == 0, one.said()
    require_tidy(store)


def test_metrics_move_while_it_records(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with recording(store, "--segment", "2s", "--listen", "127.0.0.1:0") as one:
        first = metrics(one)
        wait_until(
            lambda: metrics(one)["necroscope_segments_sealed_total"] >= 2, 20, "metrics of sealed segments"
        )
        later = metrics(one)
        one.end()
    moved = {name for name in later if later[name] > first.get(name, 0)}
    assert {
        "necroscope_recorder_moments_total",
        'necroscope_own_cpu_seconds_total{part="recorder"}',
        'necroscope_own_cpu_seconds_total{part="sealing"}',
        "necroscope_store_bytes",
    } <= moved
    assert (later["necroscope_profiling"], later["necroscope_store_writable"]) == (1, 1)
    assert not [name for name in later if re.search(r'\bcore="', name)], "no series of every core"
    assert 10 < len(later) < 500


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder of nobody's; pytest's own ones are root's alone."""
    with folder_of_nobody() as folder:
        yield folder


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_without_root_it_records_what_it_can_and_says_what_it_could_not(home: Path) -> None:
    store = home / "store"
    with recorder(store, "-d", "5s", "--segment", "2s", wrapper=as_nobody()) as one:
        code, body = one.wait()
    assert code == 1, one.said()
    assert "CAP_PERFMON" in body["profiling_error"] and body["profiling_error"] in one.said()
    assert [finding["id"] for finding in body["findings"]] == ["capture-gap"]
    assert body["moments"] >= 4 and body["segments_sealed"] >= 2
    for segment in segments_of(store):
        absent = {name: row.reason for name, row in segment.description.sources.items() if row.absent}
        assert not {"cores", "processes", "softnet"} & absent.keys(), absent
        assert all(absent.values()), "each with a reason"
        assert not segment.has_profile
    require_all_open(store)
    require_tidy(store)


def test_a_signal_that_comes_while_it_starts_is_heard(tmp_path: Path) -> None:
    """A process that has just been started is sent the signals of `systemctl reload` and `stop` as well."""
    catches_all = sum(1 << (number - 1) for number in (signal.SIGHUP, signal.SIGTERM))
    with recorder(tmp_path / "store", "--rate", "0") as one:
        status = Path(f"/proc/{one.pid}/status")
        wait_until(
            lambda: (
                int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) & catches_all == catches_all  # type: ignore[index]
            ),
            10,
            "handlers",
        )
        one.process.send_signal(signal.SIGHUP)
        one.process.send_signal(signal.SIGTERM)
        code, body = one.wait()
    assert (code, body["ok"]) == (0, True), one.said()


def test_a_terminal_that_has_gone_does_not_end_it(tmp_path: Path) -> None:
    store = tmp_path / "store"
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "necroscope", "record", "--rate", "0", "--store", str(store), "-d", "5s"]
    one = subprocess.Popen(command, stderr=writer, stdout=subprocess.DEVNULL)
    os.close(writer)
    wait_until(lambda: os.read(reader, 4096), 10, "its first words")
    os.close(reader)
    mark = f"necroscope mark: nobody listens to {one.pid} any more"
    write_lines([mark])
    assert one.wait(30) == 0
    assert [event.event.kind for event in events_of(store) if event.event.text == mark] == ["user-mark"]
