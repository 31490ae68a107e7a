"""Attack: a program writes "eth0 was reset" to /dev/kmsg, as root or in a container, in any disguise.

An unprivileged user cannot. Whoever can must not make us report a reset, set an alert or a node condition, or
diagnose anything, whatever priority or facility is written before the line. All such lines together are one
info finding and a count, unless somebody asked to trust them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from lab.faults.kernel_lines import KMSG, TRUST, why_not
from necroscope.sources.host import Host
from necroscope.sources.kernel_log import KERNEL_LOG, LogLine, parse_syslog
from tests.real.conftest import findings
from tests.real.recorders import ask, metrics, recording, wait_until
from tests.unprivileged import as_nobody, needs_setpriv

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
DEVICE = f"fake{uuid.uuid4().hex[:8]}"  # no device has this name, and no other test writes of it
STALL = (
    f"ena {uuid.uuid4().hex[:4]}:00:05.0 {DEVICE}: TX q 5 is paused for too long (threshold 5000000). "
    "Time since last napi 5180000 usec. napi scheduled: 1"
)
# Priorities that ask for facility 0, and for 256, which is 0 in eight bits.
DISGUISES = ("", "<0>", "<2>", "<6>", "<7>", "<2048>", "<2050>", "<18446744073709551616>", "<-1>", "<0x2>")


def write(text: str) -> None:
    descriptor = os.open(KMSG, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def ours(lines: tuple[LogLine, ...] | list[LogLine]) -> list[LogLine]:
    return [line for line in lines if DEVICE in line.text]


def test_the_kernel_never_gives_a_programs_line_its_own_facility() -> None:
    read = KERNEL_LOG.open(Host())
    read()
    for disguise in DISGUISES:
        write(f"{disguise}{STALL}\n")
    log = read().value
    assert log and len(ours(log.lines)) == len(DISGUISES)
    assert all(line.is_by_program for line in ours(log.lines))


@pytest.mark.skipif(shutil.which("dmesg") is None, reason="needs dmesg")
def test_nor_does_a_line_break_make_a_second_line_of_the_kernels() -> None:
    read = KERNEL_LOG.open(Host())
    read()
    for embedded in (f"x\n<2>[    1.000000] {STALL}\n", f"x\n4,1,1000000,-;{STALL}\n", f"x\r<2>{STALL}\n"):
        write(f"<6>{embedded}")
    log = read().value
    assert log and ours(log.lines)
    assert all(line.is_by_program for line in ours(log.lines))
    shown = subprocess.run(["dmesg", "--raw", "--syslog"], capture_output=True, check=True).stdout
    seen = ours(parse_syslog(shown.decode(errors="replace")))
    assert seen and all(line.is_by_program for line in seen)


@needs_setpriv
def test_an_unprivileged_user_cannot_write_at_all() -> None:
    command = [*as_nobody(), "sh", "-c", 'echo "$0" >/dev/kmsg', STALL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "ermission denied" in done.stderr


def test_doctor_reports_nothing_but_one_info_finding(tmp_path: Path) -> None:
    container = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "sh",
        "-c",
        'printf "<2>%s\\n" "$0" >/dev/kmsg',
        STALL,
    ]
    subprocess.run(container, check=True)
    write(f"<0>{STALL}\n")
    body = ask("doctor", "-d", "1s")
    assert DEVICE not in str([one for one in body["findings"] if one["id"] != "userspace-kernel-lines"])
    (info,) = findings(body, "userspace-kernel-lines")
    assert info["severity"] == "info" and "not counted" in info["summary"]
    assert next(fact["value"] for fact in info["evidence"] if fact["name"] == "lines") >= 2
    assert DEVICE not in str(body["events"]) and DEVICE not in str(body["diagnosis"])
    config = tmp_path / "config.toml"
    config.write_text("[kernel_log]\ntrust_kmsg = true\n")
    for words in ((TRUST,), ("--config", str(config))):
        trusted = ask("doctor", "-d", "1s", *words)
        assert findings(trusted, "userspace-kernel-lines") == []
        (reset,) = [one for one in findings(trusted, "nic-reset") if DEVICE in one["summary"]]
        assert reset["severity"] == "warning", "there is no such device"
        assert "written by a program" in reset["summary"]
        assert len([event for event in trusted["events"] if event["device"] == DEVICE]) >= 2


LINES = "necroscope_kernel_log_userspace_lines_total"
FOUND = 'necroscope_findings_active{{finding="{}",severity="{}"}}'
RECORD = ("--rate", "0", "--segment", "4s", "--listen", "127.0.0.1:0", "--config", "/dev/null")


def test_a_recorder_counts_the_lines_and_nothing_else(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with recording(store, *RECORD, samples=False) as one:
        before = metrics(one)[LINES]
        for disguise in ("<0>", "<2>", "<6>"):
            write(f"{disguise}{STALL}\n")
        info = FOUND.format("userspace-kernel-lines", "info")
        wait_until(lambda: metrics(one).get(info, 0) >= 1, 40, "an examination")
        after = metrics(one)
        code, body = one.end()
    assert after[LINES] >= before + 3
    assert not [name for name in after if DEVICE in name]
    assert body["userspace_lines"] >= 3 and "--trust-kmsg" in one.said()
    assert (code, body["findings"]) == (0, []), one.said()
    for words in (("events", "-b", "10m"), ("diagnose", "-b", "10m")):
        assert DEVICE not in str(ask(*words, "--store", str(store)))


def test_a_recorder_that_was_told_to_trust_notes_it_and_readers_need_no_option(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with recording(store, *RECORD, TRUST, samples=False) as one:
        write(f"<4>{STALL}\n")
        warning = FOUND.format("nic-reset", "warning")
        wait_until(lambda: metrics(one).get(warning, 0) >= 1, 40, "an examination")
        values = metrics(one)
        time.sleep(1)
        code, body = one.end()
    assert (code, body["userspace_lines"], values[LINES]) == (0, 0, 0)
    assert any(DEVICE in name for name in values if name.startswith("necroscope_nic_resets_total"))
    (event,) = [
        one for one in ask("events", "-b", "10m", "--store", str(store))["events"] if one["device"] == DEVICE
    ]
    assert (event["kind"], event["from_user_space"]) == ("nic-reset", True)
    around = ask("diagnose", "--around", event["id"], "--store", str(store))
    assert around["diagnosis"]["symptom"] == event["id"]
    assert DEVICE in str(ask("report", "--around", event["id"], "--store", str(store)))


def test_a_hangup_reads_again_whether_programs_are_trusted(tmp_path: Path) -> None:
    store, config = tmp_path / "store", tmp_path / "config.toml"
    config.write_text("[kernel_log]\ntrust_kmsg = false\n")
    with recording(store, "--rate", "0", "--config", str(config), samples=False) as one:
        write(f"{STALL} (first)\n")
        one.wait_for("not counted without --trust-kmsg")
        config.write_text("[kernel_log]\ntrust_kmsg = true\n")
        one.process.send_signal(signal.SIGHUP)
        one.wait_for("the configuration is reloaded")
        write(f"{STALL} (second)\n")
        one.wait_for("(second)")
        one.end()
    events = [
        row for row in ask("events", "-b", "10m", "--store", str(store))["events"] if DEVICE in row["text"]
    ]
    assert [row["text"].rpartition(" ")[2] for row in events] == ["(second)"]
