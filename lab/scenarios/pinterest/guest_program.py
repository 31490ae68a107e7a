"""What the program says in a guest while a reader walks the zombies on the core of its NIC.

Costs    a minute of an emulated machine (measured, Linux 5.4)
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.recorders import PROGRAM, Recorder, RecorderError, recorder
from lab.scenarios.pinterest.guest_loads import READER

QUIET_SECONDS = 24.0  # the diagnosis asks for 15; with 18 here, one of two had no culprit
BEGIN_SECONDS = 90.0  # of emulated time
LOOK = "8s"
WORTH_NAMING = 0.05


def ask_program(core: int, under_load: Callable[[subprocess.Popen[bytes]], None]) -> dict[str, Any]:
    """Record some quiet seconds and some under load, look meanwhile, and then ask for the reason."""
    with tempfile.TemporaryDirectory(prefix="necroscope-lab-", dir="/dev/shm") as folder:
        store = Path(folder) / "store"
        with recorder(store, "--segment", "15s") as recording:
            _wait_for(recording)
            time.sleep(QUIET_SECONDS)
            command = [str(PROGRAM), "doctor", "-d", LOOK, "--store", f"{folder}/none", "--json"]
            with (Path(folder) / "looked").open("w+b") as output:
                with subprocess.Popen(command, stdout=output) as doctor:
                    under_load(doctor)
                output.seek(0)
                looked = json.load(output)
            recording.end()
        diagnosis = _ask("diagnose", "--store", str(store))["diagnosis"] or {}
        return {
            "finds_starvation": ("softirq-starved", str(core)) in _ids(looked),
            "findings": [
                {name: one[name] for name in ("id", "subject", "summary")} for one in looked["findings"]
            ],
            **{name: diagnosis.get(name) for name in ("conclusion", "verdict", "missing", "culprit")},
            "links": [link["id"] for link in diagnosis.get("chain", ())],
            "reader_functions": _functions(store, core),
        }


def _wait_for(recording: Recorder) -> None:
    """Until it records; looking more often would keep it from that, on two emulated cores."""
    deadline = time.monotonic() + BEGIN_SECONDS
    while not recording.is_recording(samples=True):
        if time.monotonic() > deadline:
            raise RecorderError(f"nothing recorded within {BEGIN_SECONDS:g} s: {recording.said()}")
        time.sleep(1)


def _functions(store: Path, core: int) -> dict[str, float]:
    """The kernel functions in which the reader was found most, each with the share of its samples."""
    file = store.with_name("stacks.folded")
    words = ("--store", str(store), "-b", "10m", "--cpu", str(core), "--process", READER)
    command = [str(PROGRAM), "flame", *words, "-o", str(file)]
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
        return {}  # it has said why, on stderr: no samples
    counts: dict[str, int] = {}
    total = 0
    for line in file.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        total += int(count)
        for name in {*stack.split(";")[1:]}:
            counts[name] = counts.get(name, 0) + int(count)
    most = sorted(counts.items(), key=lambda item: -item[1])
    return {name: round(count / total, 3) for name, count in most if count >= WORTH_NAMING * total}


def _ids(looked: dict[str, Any]) -> set[tuple[str, str]]:
    return {(one["id"], one["subject"]) for one in looked["findings"]}


def _ask(*words: str) -> dict[str, Any]:
    done = subprocess.run([str(PROGRAM), *words, "--json"], capture_output=True, text=True, check=False)
    body: dict[str, Any] = json.loads(done.stdout)
    return body
