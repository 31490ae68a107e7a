"""What `doctor` and perf see on this kernel, while one core is busy and a driver has complained.

The driver's line is not from the driver: it is written into the kernel's log, as ENA writes it.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.faults.kernel_lines import TRUST
from lab.scenarios.kernels.verbs import answer
from necroscope import _native
from necroscope.profiles.capture import Capture, Closed, Ended
from necroscope.profiles.idle import idle_rule
from necroscope.profiles.kallsyms import running_kallsyms
from necroscope.profiles.perf_command import DATA_NAME
from necroscope.profiles.perf_session import HEAD_BYTES
from necroscope.sources.host import Host

BUSY_CORE = 1
LOOK = "5s"
RATE = 99
READY_SECONDS = 30.0
STOP_SECONDS = 15.0
NOT_READY = f"perf took longer to start than {READY_SECONDS:.0f} s, and left no file"
LINE = (
    "ena 0000:00:05.0 eth9: TX q 5 is paused for too long (threshold 5000000). "
    "Time since last napi 5180000 usec. napi scheduled: 1"
)


def look(host: Host, zombies: int, folder: Path) -> dict[str, Any]:
    """doctor's findings with zombies, a stall in the log and a busy core; perf runs meanwhile."""
    config = folder / "config.toml"
    config.write_text(f"[thresholds.zombie-memory-cgroups]\nwarning = {zombies}\n")
    Path("/dev/kmsg").write_text(f"{LINE}\n")
    with capturing(host, folder) as perf, _busy_core():
        words = ("doctor", "-d", LOOK, TRUST, "--json", "--config", str(config))
        code, body = answer(words, folder)
    return {"doctor": {"exit_code": code, **_seen(body)}, "perf": perf}


@contextmanager
def capturing(host: Host, folder: Path) -> Iterator[dict[str, Any]]:
    """perf as the recorder runs it; in the end the dict says what came of it."""
    came: dict[str, Any] = {}
    capture = Capture(folder / "capture", host, RATE)
    capture.start()
    deadline = time.monotonic() + READY_SECONDS
    # Not `is_ready`: after ten seconds without an answer that is a guess, and under emulation perf may take a
    # minute of CPU time before its first sample (5.10).
    while not _has_begun(folder) and not capture.error and time.monotonic() < deadline:
        capture.tick(time.monotonic_ns())
        time.sleep(0.1)
    try:
        yield came
    finally:
        news = capture.stop(STOP_SECONDS)
        came.update(description=capture.description, left_out=list(capture.left_out))
        files = [one.path for one in news if isinstance(one, Closed)]
        files += [one.leftover for one in news if isinstance(one, Ended) and one.leftover]
        came.update(_samples(files[-1], folder) if files else {"absent": capture.error or NOT_READY})


def _has_begun(folder: Path) -> bool:
    return any(path.stat().st_size > HEAD_BYTES for path in (folder / "capture").glob(f"*/{DATA_NAME}"))


def _samples(file: Path, folder: Path) -> dict[str, Any]:
    """What our reader finds in a capture."""
    profile, rule = folder / "profile", idle_rule()
    profile.mkdir()
    rules: Mapping[str, Any] = {"idle": list(rule.idle), "interrupt": list(rule.interrupt)}
    facts = _native.import_perf_data(file, profile, kallsyms=running_kallsyms(), root=Path("/"), **rules)
    return {"samples": facts["samples"], "lost": facts.get("lost", 0)}


@contextmanager
def _busy_core() -> Iterator[None]:
    command = ["taskset", "-c", str(BUSY_CORE), "dd", "if=/dev/zero", "of=/dev/null", "bs=16M", "status=none"]
    hog = subprocess.Popen(command)
    try:
        yield
    finally:
        hog.kill()
        hog.wait()


def _seen(body: Mapping[str, Any]) -> dict[str, Any]:
    findings = [
        {
            "id": finding["id"],
            "severity": finding["severity"],
            "summary": finding["summary"],
            "evidence": {fact["name"]: fact["value"] for fact in finding["evidence"]},
        }
        for finding in body["findings"]
    ]

    def first(id: str, name: str) -> Any:
        values = [one["evidence"].get(name) for one in findings if one["id"] == id]
        return values[0] if values else None

    saturated = [one for one in findings if one["id"] == "core-saturated" and one["severity"] != "info"]
    return {
        "kernel": body["host"]["kernel"],
        "zombies": first("zombie-memory-cgroups", "zombies"),
        "resets": [one["summary"] for one in findings if one["id"] == "nic-reset"],
        "busy_cores": [one["evidence"]["core"] for one in saturated],
        "not_checked": {row["source"]: row["reason"] for row in body["not_checked"]},
    }
