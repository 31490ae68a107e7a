"""doctor as people run it: on recorded hosts, on broken files, without root, in narrow terminals, piped."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import PROGRAM, Run
from tests.unprivileged import as_nobody, needs_setpriv

HOSTS = Path(__file__).parents[1] / "hosts"
Document = Callable[..., dict[str, Any]]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")


def seen(body: dict[str, Any]) -> dict[str, Any]:
    return {fact["name"]: fact["value"] for fact in body["seen"]}


@pytest.mark.parametrize(
    ("host", "hierarchy"),
    [
        ("debian-5.10-v1", "cgroups, memory (v1)"),
        ("debian-6.1-v2", "cgroups, unified (v2)"),
        ("debian-6.1-hybrid", "cgroups, memory (v1)"),
    ],
)
def test_recorded_hosts(document: Document, host: str, hierarchy: str) -> None:
    body = document("doctor", "--root", HOSTS / host, exit_code=0)
    assert seen(body)[hierarchy] == "26 tracked, 6 in use, 20 dying"
    assert body["host"]["hostname"].startswith("node-")
    assert body["findings"] == [] and body["diagnosis"] is None
    assert {"zombie-memory-cgroups", "nic-reset", "kernel-stall"} <= set(body["checked"])
    assert all(row["reason"] and row["source"] for row in body["not_checked"])


def test_a_recorded_host_with_many_zombies_and_a_stalled_nic(document: Document, tmp_path: Path) -> None:
    root = tmp_path / "host"
    shutil.copytree(HOSTS / "debian-5.10-v1", root, symlinks=True)
    cgroups = root / "proc/cgroups"
    cgroups.write_text(cgroups.read_text().replace("\t26\t", "\t68680\t"))
    with (root / "dev/kmsg").open("a") as log:
        log.write("4,9001,9000000,-;NETDEV WATCHDOG: eth0 (virtio_net): transmit queue 0 timed out\n")
    body = document("doctor", "--root", root, exit_code=1)
    assert {finding["id"] for finding in body["findings"]} == {"zombie-memory-cgroups", "nic-reset"}
    zombies = next(f for f in body["findings"] if f["id"] == "zombie-memory-cgroups")
    assert {e["name"]: e["value"] for e in zombies["evidence"]}["zombies"] == 68674
    assert all(
        e.keys() == {"name", "value", "unit", "source"} for f in body["findings"] for e in f["evidence"]
    )


def test_a_line_that_a_program_wrote_counts_only_with_trust(document: Document, tmp_path: Path) -> None:
    root = tmp_path / "host"
    shutil.copytree(HOSTS / "debian-5.10-v1", root, symlinks=True)
    with (root / "dev/kmsg").open("a") as log:
        log.write("12,9001,9000000,-;NETDEV WATCHDOG: eth0 (virtio_net): transmit queue 0 timed out\n")
    body = document("doctor", "--root", root, exit_code=0)
    assert [(one["id"], one["severity"]) for one in body["findings"]] == [("userspace-kernel-lines", "info")]
    assert body["events"] == [] and body["verdict"].startswith("1 info")
    config = tmp_path / "config.toml"
    config.write_text("[kernel_log]\ntrust_kmsg = true\n")
    for words in (("--trust-kmsg",), ("--config", config)):
        body = document("doctor", "--root", root, *words, exit_code=1)
        assert [one["id"] for one in body["findings"]] == ["nic-reset"]
        assert body["events"][0]["from_user_space"] is True


@pytest.mark.parametrize(
    "damage", [b"", b"\xff\xfe\x00\x01" * 64, "half"], ids=["empty", "binary", "truncated"]
)
@pytest.mark.parametrize(
    "name", ["proc/stat", "proc/cgroups", "proc/1/mountinfo", "dev/kmsg", "proc/interrupts"]
)
def test_damaged_files(document: Document, tmp_path: Path, name: str, damage: bytes | str) -> None:
    root = tmp_path / "host"
    shutil.copytree(HOSTS / "debian-5.10-v1", root, symlinks=True)
    whole = (root / name).read_bytes()
    (root / name).write_bytes(whole[: len(whole) // 2] if isinstance(damage, str) else damage)
    body = document("doctor", "--root", root, exit_code=0)
    # Half a log is still a log, and half an interrupt table may end at a line: those are read.
    if not (damage == "half" and name in ("dev/kmsg", "proc/interrupts")):
        assert any("unreadable" in row["reason"] for row in body["not_checked"])


@pytest.mark.parametrize("content", ["nothing", "a file for /proc", "directories for files"])
def test_nothing_to_look_at_is_exit_3(necroscope: Run, tmp_path: Path, content: str) -> None:
    if content == "a file for /proc":
        (tmp_path / "proc").write_text("not a folder")
    if content == "directories for files":
        for name in ("proc/stat", "proc/cgroups", "dev/kmsg", "proc/1/mountinfo"):
            (tmp_path / name).mkdir(parents=True)
    done = necroscope("doctor", "--root", tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "nothing could be looked at" in done.stderr and "Traceback" not in done.stderr


@needs_setpriv
def test_an_unprivileged_user_gets_what_can_be_had_and_the_missing_capability() -> None:
    command = [*as_nobody(), str(PROGRAM), "doctor", "-d", "3s", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode in (0, 1), done.stderr) == (True, "")
    body = json.loads(done.stdout)
    (row,) = [row for row in body["not_checked"] if row["source"] == "kernel-log"]
    assert "not permitted" in row["reason"] and "CAP_SYSLOG" in row["hint"]
    assert {"core-saturated", "nic-reset"} <= set(body["checked"]) and "kernel-stall" not in body["checked"]


@pytest.mark.parametrize("columns", ["60", "40"])
def test_a_narrow_terminal(necroscope: Run, columns: str) -> None:
    text = necroscope("doctor", "-d", "1s", env={"COLUMNS": columns}).stdout
    assert max(map(len, text.splitlines())) <= int(columns)


@pytest.mark.skipif(not shutil.which("tmux"), reason="needs tmux")
def test_a_real_terminal_shows_a_bar_and_then_a_verdict(tmp_path: Path) -> None:
    tmux = ["tmux", "-S", str(tmp_path / "socket")]
    subprocess.run([*tmux, "new-session", "-d", "-x", "60", "-y", "50", "bash --norc"], check=True)
    try:
        report = tmp_path / "report"
        command = f"{shlex.quote(str(PROGRAM))} doctor -d 3s >{report}; head -3 {report}"
        subprocess.run([*tmux, "send-keys", command, "Enter"], check=True)
        screens = []
        for _ in range(80):
            time.sleep(0.1)
            shown = subprocess.run(
                [*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True
            ).stdout
            screens.append(shown)
            if "looked for" in shown:
                break
        assert any("looking [" in screen for screen in screens)
        assert "looking [" not in screens[-1], "the bar wipes itself"
        assert "looked for 3 s" in screens[-1]
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


@pytest.mark.skipif(not shutil.which("jq"), reason="needs jq")
def test_piped_into_jq() -> None:
    command = f"set -o pipefail; {shlex.quote(str(PROGRAM))} doctor -d 1s --json | jq -r '.findings | length'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1) and done.stdout.strip().isdigit()
    assert done.stderr == "", "no bar, no colour, nothing else"


def test_the_exit_code_says_whether_something_was_found(document: Document, necroscope: Run) -> None:
    done = necroscope("doctor", "-d", "1s", "--json")
    severities = {finding["severity"] for finding in json.loads(done.stdout)["findings"]}
    assert done.returncode == (1 if severities - {"info"} else 0)


def waits_between_samples(pid: int) -> bool:
    """Whether a program hardly runs for a second: it has started, and looks."""

    def ticks() -> int:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))

    before = ticks()
    time.sleep(1.2)
    return before > 10 and ticks() - before < 30


def test_ctrl_c_keeps_what_was_seen() -> None:
    process = subprocess.Popen([PROGRAM, "doctor", "-d", "60s", "--json"], stdout=subprocess.PIPE, text=True)
    assert any(waits_between_samples(process.pid) for _ in range(20))
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=10)
    body = json.loads(output)
    assert (process.returncode, body["interrupted"]) == (130, True)
    assert 1 < body["seconds"] < 10


@pytest.mark.parametrize(
    ("redirection", "says"),
    [
        (">/dev/full", "cannot write the output: No space left on device"),
        (">&-", "standard output is closed"),
    ],
)
def test_an_output_that_cannot_be_written_is_exit_2(redirection: str, says: str) -> None:
    command = f"{shlex.quote(str(PROGRAM))} list events {redirection}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr


def test_without_stderr_it_still_answers() -> None:
    command = f"{shlex.quote(str(PROGRAM))} doctor -d 1s 2>&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "looked for 1 s" in done.stdout


def test_an_error_of_our_own_is_exit_2_and_no_traceback(
    necroscope: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("necroscope.cli.doctor.run", lambda _: 1 // 0)
    done = necroscope("doctor", "-d", "1s", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["slug"]) == (2, "internal")
    assert "ZeroDivisionError" in done.stderr and "Traceback" not in done.stderr


def test_a_bad_config_is_refused(necroscope: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[thresholds.core-saturated]\nsecnds = 5\n")
    done = necroscope("doctor", "--config", config)
    assert done.returncode == 2
    assert "there is no threshold 'core-saturated.secnds'" in done.stderr
