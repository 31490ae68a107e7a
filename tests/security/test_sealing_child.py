"""Attacks on the child that seals: it hangs, dies, or fills the memory, again and again, and nobody is told.

Whatever it reads may be made for that. The recorder must report it within two segments, leave out what did
the harm and seal the rest; and it must not run what somebody left in the folder that it was started in.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from lab.recorders import PROGRAM
from necroscope.agent import closing, rolling, sealer
from necroscope.agent.agent import Agent
from necroscope.agent.sealer import MAX_MEMORY_BYTES, Sealer
from necroscope.cli.main import main
from necroscope.errors import StoreError
from necroscope.exporter.exposition import status_samples
from necroscope.profiles import in_child, open_profile
from necroscope.store import seal as recording_seal
from necroscope.store.journal import JOURNAL
from necroscope.store.read_range import read_moments
from necroscope.store.store import StoredSegment, read_segment
from tests.exporter.test_exposition import STATUS
from tests.profiles import captures
from tests.security.made_captures import SPIN, Mapped, capture, program
from tests.stored import no_profile, open_segment, seconds_of

MOMENTS = seconds_of(["idle"] * 5, ["system"] * 5)
SCRIPTS = {
    "hangs": "exec sleep 600",
    "dies": "kill -9 $$",
    "fails": "exit 1",
    "grows": f'exec "{sys.executable}" -c "bytearray(64 << 30)"',
}


def record(store: Path, *words: str) -> dict[str, Any]:
    """Record in this process, and return the answer."""
    text = StringIO()
    with redirect_stdout(text), redirect_stderr(StringIO()):
        main(["record", "--json", "--store", str(store), "--rate", "0", *words])
    answer: dict[str, Any] = json.loads(text.getvalue())
    return answer


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_child_that_does_not_seal_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(closing, "SEAL_SECONDS", 2.0)
    monkeypatch.setattr(Agent, "_seal_command", lambda _: ["sh", "-c", script])
    answer = record(tmp_path / "store", "-d", "3s", "--segment", "5s")
    assert not answer["ok"]
    assert (answer["segments_sealed"], answer["segments_waiting"]) == (0, 1)
    assert "seal" in answer["sealing_error"]


def test_a_recording_that_is_sealed_is_well(tmp_path: Path) -> None:
    answer = record(tmp_path / "store", "-d", "1s", "--segment", "5s")
    assert answer["ok"] and not answer["sealing_error"] and not answer["segments_incomplete"]


def test_the_metrics_report_it() -> None:
    def of(**more: Any) -> dict[str, float]:
        return {sample.family: sample.value for sample in status_samples(replace(STATUS, **more))}

    assert of(sealing_error="")["necroscope_sealing_working"] == 1
    metrics = of(sealing_error="it has taken 20 s so far", segments_incomplete=3)
    assert metrics["necroscope_sealing_working"] == 0
    assert metrics["necroscope_segments_incomplete_total"] == 3


@pytest.fixture
def segment(tmp_path: Path) -> StoredSegment:
    """An open segment of five seconds, with samples of a program that still is where it was."""
    made = open_segment(tmp_path / "store", MOMENTS, ended="full")
    hog = program(tmp_path / "hog", [("first", 0x100, 0x40)])
    capture(made.capture, [Mapped(os.getpid(), str(hog))])
    return made


@contextmanager
def quick_times(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A child may take four seconds, which is enough for one that works."""
    with monkeypatch.context() as patch:
        patch.setattr(sealer, "MIN_SLOW_SECONDS", 2.0)
        patch.setattr(sealer, "MIN_STUCK_SECONDS", 4.0)
        yield


def sealing(folder: Path, harm: str, condition: str) -> Sealer:
    """Seal with a child that harms itself on a condition, and else works."""
    script = folder / "seal.sh"
    script.write_text(f'if {condition}; then {harm}; fi\nexec "{PROGRAM}" seal --json "$@"\n')
    return Sealer(["sh", str(script)], 0.1, MAX_MEMORY_BYTES)


def tick_until(one: Sealer, condition: Callable[[], object], seconds: float = 60) -> None:
    """Tick as a recorder does."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        one.tick()
        time.sleep(0.05)
    assert condition(), one.error


WITH_NAMES, WITH_SAMPLES = '[ "$1" != --names ]', '[ "$2" != none ]'


@pytest.mark.parametrize("harm", SCRIPTS.values(), ids=SCRIPTS)
def test_what_harms_the_child_is_left_out_and_the_rest_is_sealed(
    tmp_path: Path, segment: StoredSegment, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    with quick_times(monkeypatch):
        one = sealing(tmp_path, harm, WITH_NAMES)
        one.add(segment.folder)
        tick_until(one, lambda: one.sealed)
    sealed = read_segment(segment.folder)
    assert read_moments(sealed) == MOMENTS
    assert sealed.description.profile.samples == 1
    assert any("functions of programs have no names" in gap for gap in sealed.description.profile.gaps)
    assert one.incomplete == 1 and "without the names of functions of programs" in one.error


def test_samples_that_nothing_can_read_are_kept_as_they_are(
    tmp_path: Path, segment: StoredSegment, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = segment.capture.read_bytes()
    with quick_times(monkeypatch):
        one = sealing(tmp_path, "kill -9 $$", WITH_SAMPLES)
        one.add(segment.folder)
        tick_until(one, lambda: one.sealed)
    sealed = read_segment(segment.folder)
    assert read_moments(sealed) == MOMENTS and not sealed.has_profile
    assert "sealing with it failed" in sealed.description.no_profile
    assert segment.capture.read_bytes() == before, "for somebody to look at it"


def test_other_segments_are_not_held_up(
    tmp_path: Path, segment: StoredSegment, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [open_segment(tmp_path / str(number), MOMENTS, ended="full") for number in range(3)]
    with quick_times(monkeypatch):
        one = sealing(tmp_path, "exec sleep 600", f'case "$*" in *{segment.folder}*) true;; *) false;; esac')
        one.add(segment.folder)
        for other in others:
            one.add(other.folder)
        tick_until(one, lambda: one.sealed == 3)
    assert [read_segment(other.folder).is_open for other in others] == [False] * 3
    assert one.error and not one.incomplete


def test_a_flood_of_lines_begins_a_new_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes the kernel write lines makes a journal grow, and a large one is not read again."""
    monkeypatch.setattr(rolling, "FULL_BYTES", 1000)
    answer = record(tmp_path / "store", "-d", "3s", "--segment", "10m")
    assert answer["ok"] and answer["segments_sealed"] >= 2


def test_nothing_of_a_journal_that_is_too_large_is_lost(
    segment: StoredSegment, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = segment.folder / JOURNAL
    before = journal.read_bytes()
    monkeypatch.setattr(recording_seal, "MAX_JOURNAL_BYTES", len(before) - 1)
    with pytest.raises(StoreError, match="the journal is larger than"):
        recording_seal.seal_recorded(segment, no_profile)
    assert journal.read_bytes() == before and read_segment(segment.folder).is_open


def test_the_memory_of_the_child_is_bounded(segment: StoredSegment) -> None:
    """A million samples take more than 24 MiB: the child fails, and not the node."""
    offsets = tuple(range(8, 0xFF8, 8)) * 2000
    capture(segment.capture, [Mapped(os.getpid(), "/hog", offsets)])
    one = Sealer([str(PROGRAM), "seal", "--json"], 5.0, 24 << 20)
    one.add(segment.folder)
    one.drain(60)
    assert one.error and not one.sealed
    assert read_segment(segment.folder).is_open
    one.memory_bytes = MAX_MEMORY_BYTES
    one.drain(60)
    assert one.sealed
    assert read_segment(segment.folder).description.profile.samples == len(offsets)


def test_the_child_ends_by_itself_if_nobody_ends_it(segment: StoredSegment) -> None:
    """The recorder may have been killed."""
    hang = "import sys, time; from necroscope.cli import seal, main"
    hang += "; seal.seal_recorded = lambda *_, **__: time.sleep(600); main.main(sys.argv[1:])"
    command = [sys.executable, "-c", hang]
    words = ["seal", "--json", "--max-time", "1s", str(segment.folder)]
    done = subprocess.run([*command, *words], capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGALRM


def test_no_code_from_the_folder_it_is_started_in(tmp_path: Path) -> None:
    """`sudo necroscope record` in a folder of somebody else, who left something called necroscope there."""
    (tmp_path / "necroscope").mkdir()
    mark = tmp_path / "was-run"
    for name in ("necroscope/__init__.py", "necroscope/__main__.py", "json.py"):
        (tmp_path / name).write_text(f"open({str(mark)!r}, 'w')\n")
    command = [
        str(PROGRAM),
        "record",
        "--json",
        "-d",
        "1s",
        "--rate",
        "0",
        "--store",
        str(tmp_path / "store"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert not mark.exists()
    answer = json.loads(done.stdout)
    assert answer["ok"] and answer["segments_sealed"] == 1


@pytest.fixture
def live(segment: StoredSegment, monkeypatch: pytest.MonkeyPatch) -> StoredSegment:
    """The same, for the page: nothing was read of it before."""
    monkeypatch.setattr(open_profile, "_sealing", in_child.Sealing())
    monkeypatch.setattr(open_profile, "_made", type(open_profile._made)())
    return segment


def test_the_page_survives_what_hangs_its_child(
    tmp_path: Path, live: StoredSegment, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python.sh"
    calls = tmp_path / "calls"
    script.write_text(
        f'cat >"{tmp_path}/question"; echo call >>"{calls}"\n'
        f"""grep -q '"root": "/"' "{tmp_path}/question" && exec sleep 600\n"""
        f'exec "{sys.executable}" -P "$@" <"{tmp_path}/question"\n'
    )
    monkeypatch.setattr(in_child, "PYTHON", ("sh", str(script)))
    monkeypatch.setattr(in_child, "MIN_SECONDS", 4.0)
    begin = time.monotonic()
    first = open_profile.open_profile(live)
    assert (first / "samples.parquet").exists() and time.monotonic() - begin < 30
    second = open_profile.open_profile(replace(live, end_ns=live.end_ns + 1))
    assert (second / "samples.parquet").exists() and second != first
    assert len(calls.read_text().split()) == 3, "once it is known, nobody waits for it"


def test_the_page_reports_what_cannot_be_read(live: StoredSegment) -> None:
    live.capture.write_bytes(b"no capture")
    with pytest.raises(StoreError, match="not a perf"):
        open_profile.open_profile(live)


def test_a_recorder_beside_a_process_whose_map_is_a_pipe(tmp_path: Path) -> None:
    captures.require_perf()
    if platform.machine() != "x86_64":
        pytest.skip("the loop is written in x86-64")
    command = [str(PROGRAM), "record", "--json", "-d", "8s", "--segment", "5s"]
    command += ["--store", str(tmp_path / "store")]
    with captures.running([sys.executable, "-c", SPIN]) as (process,):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        finally:
            Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)
    answer = json.loads(done.stdout)
    assert answer["ok"], answer
    assert answer["segments_sealed"] >= 2 and not answer["segments_waiting"]
