from __future__ import annotations

import errno
import gc
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from necroscope.model.reading import Absence, Reading
from necroscope.sources import kernel_log
from necroscope.sources.host import Host, missing
from necroscope.sources.kernel_log import (
    KERNEL_LOG,
    KernelLog,
    LogLine,
    lines_since,
    parse_journal,
    parse_record,
    parse_syslog,
)
from tests.sources.conftest import Tree

ENA = "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold 5000000)"
RECORDS = (
    f"4,1208,5122417893,-;{ENA}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:00:05.0\n"
    "6,1209,5122417900,c;and more\n"
    "14,1210,5122417901,-,caller=T4711;written by a program\n"
)
FakeJournal = Callable[[str], None]
NO_SYSLOG: Reading[KernelLog] = Reading(absence=Absence.NOT_PERMITTED, detail="syslog call: refused")


def texts(reading: Reading[KernelLog]) -> list[str]:
    assert reading.value, reading.reason
    return [line.text for line in reading.value.lines]


def test_a_record_of_the_kernel() -> None:
    assert parse_record(RECORDS) == LogLine(5122417893000, ENA, facility=0, sequence=1208)


def test_a_record_of_a_program() -> None:
    line = parse_record("14,1210,5122417901,-,caller=T4711;a;b,c\n")
    assert line == LogLine(5122417901000, "a;b,c", facility=1, sequence=1210)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"two\x0alines", "two\nlines"),
        (r"back\x5cslash \x5cx41", r"back\slash \x41"),
        (r"Killed process 7 (gr\xc3\xb6\xc3\x9fe)", "Killed process 7 (größe)"),
        (r"\xff\xfe", "\ufffd\ufffd"),
        (r"tab\x09 and \xzz", "tab\t and \\xzz"),
        ("", ""),
    ],
)
def test_escapes(written: str, text: str) -> None:
    line = parse_record(f"6,1,2,-;{written}\n")
    assert line
    assert line.text == text


@pytest.mark.parametrize(
    "record", ["", "\n", " SUBSYSTEM=pci\n", "6,1,2", "a,b,c,-;text", "4,1208,5122417893,-"]
)
def test_what_is_not_a_record(record: str) -> None:
    assert parse_record(record) is None


def test_the_syslog_call_with_and_without_printk_caller() -> None:
    text = (
        f"<4>[ 5122.417893] {ENA}\n"
        "<6>[    0.000000][    T0] Linux version 6.18\n"
        "<14>[12345.000001][T12345] by a program\n"
        "<3>[    1.000002][   C95] in an interrupt\n"
        "<6>[    1.000003] [drm] not a caller\n"
        "a line that was cut at its beginning\n"
    )
    assert parse_syslog(text) == [
        LogLine(5122417893000, ENA, 0, 0),
        LogLine(0, "Linux version 6.18", 0, 1),
        LogLine(12345000001000, "by a program", 1, 2),
        LogLine(1000002000, "in an interrupt", 0, 3),
        LogLine(1000003000, "[drm] not a caller", 0, 4),
    ]


def entry(**fields: object) -> str:
    return (
        json.dumps({"__MONOTONIC_TIMESTAMP": "9", "SYSLOG_FACILITY": "0", **fields}, ensure_ascii=False)
        + "\n"
    )


def test_the_journal() -> None:
    text = (
        entry(_SOURCE_MONOTONIC_TIMESTAMP="5122417893", MESSAGE=ENA)
        + entry(MESSAGE=[71, 114, 195, 182, 255], SYSLOG_FACILITY="1")
        + entry(MESSAGE=None)  # too long to be printed
        + entry(MESSAGE="one\u2028line")
    )
    assert parse_journal(text) == [
        LogLine(5122417893000, ENA, 0, 0),
        LogLine(9000, "Grö\ufffd", 1, 1),
        LogLine(9000, "", 0, 2),
        LogLine(9000, "one\u2028line", 0, 3),
    ]
    assert parse_journal("") == []


def test_a_recorded_log_is_read_once(tree: Tree) -> None:
    read = KERNEL_LOG.open(tree({"/dev/kmsg": RECORDS}))
    first = read()
    assert texts(first) == [ENA, "and more", "written by a program"]
    assert first.value
    assert first.value.way == "/dev/kmsg (recorded)"
    assert texts(read()) == []


NOT_THE_LOG: Reading[KernelLog] = Reading(
    absence=Absence.BROKEN, detail="/dev/kmsg is not the kernel's log device"
)


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_another_device_in_its_place_is_neither_a_log_nor_a_trap(
    monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    monkeypatch.setattr(Host, "path", lambda *_: Path(device))
    assert Host().is_live
    assert kernel_log._open_kmsg(Host()) == NOT_THE_LOG


def test_the_device_in_another_tree_would_give_our_own_log(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/dev/kmsg").exists():
        pytest.skip("this machine has no /dev/kmsg")
    monkeypatch.setattr(Host, "path", lambda *_: Path("/dev/kmsg"))
    monkeypatch.setenv("PATH", "/nonexistent")
    reading = KERNEL_LOG.open(tree({}))()
    assert reading.absence is Absence.BROKEN
    assert reading.detail == (
        f"{NOT_THE_LOG.detail}; syslog call: not the running machine; journalctl: No such file or directory"
    )


def test_links_without_end_in_its_place(tree: Tree, journalctl: FakeJournal) -> None:
    journalctl("exit 1")
    reading = KERNEL_LOG.open(tree({"/dev/kmsg": Path("kmsg")}))()
    assert reading.absence is Absence.BROKEN
    assert reading.detail.startswith("/dev/kmsg: Too many levels of symbolic links; syslog call: ")


def test_a_pipe_in_its_place(tree: Tree, tmp_path: Path) -> None:
    host = tree({"/dev": None})
    os.mkfifo(tmp_path / "dev/kmsg")
    assert KERNEL_LOG.open(host)().absence is Absence.BROKEN


def line(time_ns: int, text: str) -> LogLine:
    return LogLine(time_ns, text, 0, 0)


A, B, C, D = (line(time_ns, text) for time_ns, text in ((5, "a"), (7, "b"), (6, "c"), (6, "d")))


@pytest.mark.parametrize(
    ("before", "now", "fresh"),
    [
        ([], [A, B], [A, B]),
        ([A, B], [A, B], []),
        ([A, B, C], [A, B, C, D], [D]),  # the clock of another core is behind
        ([A, B, C], [B, C, D], [D]),  # the oldest line has gone
        ([A, A], [A, A, A], [A]),
        ([A, B], [C, D], [C, D]),  # all of them have gone
        ([A, B], [], []),  # dmesg --clear
    ],
)
def test_what_came_since(before: list[LogLine], now: list[LogLine], fresh: list[LogLine]) -> None:
    assert lines_since(before, now) == fresh


def no_kmsg(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal: Reading[KernelLog] = missing(
        "/dev/kmsg", PermissionError(errno.EPERM, "Operation not permitted")
    )
    monkeypatch.setattr(kernel_log, "_open_kmsg", lambda _: refusal)


@pytest.fixture
def journalctl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeJournal:
    """A journalctl whose script is given."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def write(script: str) -> None:
        (tmp_path / "journalctl").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "journalctl").chmod(0o755)

    return write


@pytest.fixture
def journal(journalctl: FakeJournal, monkeypatch: pytest.MonkeyPatch) -> FakeJournal:
    """The same, and nothing else to read from."""
    no_kmsg(monkeypatch)
    monkeypatch.setattr(kernel_log, "_open_syslog", lambda _: NO_SYSLOG)
    return journalctl


def test_another_tree_has_its_journal(
    tree: Tree, journalctl: FakeJournal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel_log, "_open_kmsg", lambda _: NOT_THE_LOG)
    (tmp_path / "lines").write_text(entry(MESSAGE="theirs"))
    journalctl(f'case "$*" in *" --root={tmp_path}") cat {tmp_path}/lines;; *) exit 1;; esac')
    reading = KERNEL_LOG.open(tree({}))()
    assert texts(reading) == ["theirs"]
    assert reading.value
    assert reading.value.way == "journalctl"


def test_ctrl_c_does_not_end_the_journal(journal: FakeJournal) -> None:
    """A terminal sends it to the whole process group."""
    print_group = """printf '{"__MONOTONIC_TIMESTAMP": "1", "MESSAGE": "%s"}\\n' $group"""
    journal(f"read -r _ _ _ _ group _ < /proc/$$/stat; {print_group}")
    assert int(texts(KERNEL_LOG.open(Host())())[0]) != os.getpgrp()


def test_the_journal_is_the_last_way(journal: FakeJournal, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text(entry(MESSAGE="first"))
    journal(f"cat {tmp_path}/lines")
    read = KERNEL_LOG.open(Host())
    assert texts(read()) == ["first"]
    with (tmp_path / "lines").open("a") as file:
        file.write(entry(MESSAGE="second"))
    assert texts(read()) == ["second"]
    assert texts(read()) == []
    journal("exit 1")
    assert read().absence is Absence.BROKEN


@pytest.mark.parametrize(
    ("script", "detail"),
    [
        ("exit 1", "exit status 1"),
        ("echo '{'", "journalctl: Expecting"),
        ("echo '[]'", "journalctl: line 1 is no object"),
        ("echo '{}'", "journalctl: '__MONOTONIC_TIMESTAMP'"),
        ("""echo '{"__MONOTONIC_TIMESTAMP": "1", "MESSAGE": ["a"]}'""", "journalctl: 'str' object"),
        ("printf '\\377\\376\\000'", "journalctl: 'utf-8' codec"),
        ("true", "journalctl shows no kernel line"),
    ],
)
def test_a_journal_that_does_not_help(journal: FakeJournal, script: str, detail: str) -> None:
    journal(script)
    reading = KERNEL_LOG.open(Host())()
    assert reading.absence is Absence.NOT_PERMITTED  # of all reasons the one to do something about
    assert "/dev/kmsg: Operation not permitted; syslog call: refused" in reading.detail
    assert detail in reading.detail


def test_a_journal_that_never_ends(journal: FakeJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **options: object) -> None:
        raise subprocess.TimeoutExpired(command, 10)

    journal("true")
    monkeypatch.setattr(subprocess, "run", run)
    assert "timed out" in KERNEL_LOG.open(Host())().detail


def test_nothing_there_at_all(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    reading = KERNEL_LOG.open(tree({}))()
    assert reading.absence is Absence.NOT_SUPPORTED
    assert reading.detail == (
        "/dev/kmsg: No such file or directory; syslog call: not the running machine; "
        "journalctl: No such file or directory"
    )


def write_to_kmsg(text: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may write to /dev/kmsg")
    try:
        with Path("/dev/kmsg").open("w") as kmsg:
            kmsg.write(f"<14>{text}\n")
    except OSError as error:
        pytest.skip(f"/dev/kmsg: {error.strerror}")


def written_and_seen(read: Callable[[], Reading[KernelLog]], way: str) -> None:
    read()
    text = f"necroscope-test größe {time.monotonic_ns()}"
    began = time.monotonic_ns()
    write_to_kmsg(text)
    reading = read()
    assert reading.value, reading.reason
    (seen,) = [line for line in reading.value.lines if line.text == text]
    assert seen.facility == 1
    assert abs(seen.time_ns - began) < 5e9  # the log's clock runs beside CLOCK_MONOTONIC
    assert reading.value.way == way
    assert text not in texts(read())


def test_this_machine_by_kmsg() -> None:
    written_and_seen(KERNEL_LOG.open(Host()), "/dev/kmsg")


def test_this_machine_by_the_syslog_call(monkeypatch: pytest.MonkeyPatch) -> None:
    no_kmsg(monkeypatch)
    if os.geteuid() != 0:
        pytest.skip("the syslog call needs CAP_SYSLOG")
    written_and_seen(KERNEL_LOG.open(Host()), "syslog call")


def test_a_log_without_a_new_line_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    no_kmsg(monkeypatch)
    if os.geteuid() != 0:
        pytest.skip("the syslog call needs CAP_SYSLOG")
    parsed: list[str] = []

    def parse(text: str) -> list[LogLine]:
        parsed.append(text)
        return parse_syslog(text)

    monkeypatch.setattr(kernel_log, "parse_syslog", parse)
    read = KERNEL_LOG.open(Host())
    for _ in range(20):
        assert read().value is not None
    assert len(parsed) < 10, "but for lines that others write meanwhile, once"


def test_lines_without_a_time_are_not_an_empty_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """printk.time=0 makes the syslog call useless; it must say so."""
    if os.geteuid() != 0:
        pytest.skip("the syslog call needs CAP_SYSLOG")
    no_kmsg(monkeypatch)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(kernel_log, "parse_syslog", lambda _: [])
    assert "syslog call: lines without a time" in KERNEL_LOG.open(Host())().detail


def test_a_reader_that_is_dropped_closes_its_file() -> None:
    def open_files() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    before = open_files()
    KERNEL_LOG.open(Host())
    assert open_files() == before


def test_overwritten_lines_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a read of /dev/kmsg can give beside records: EPIPE, EAGAIN, and anything else."""
    answers: list[bytes | OSError] = [
        BrokenPipeError(),
        RECORDS.encode(),
        BlockingIOError(),
        OSError(5, "I/O"),
    ]

    def read(_: int, __: int) -> bytes:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(os, "read", read)
    follow = kernel_log._follow_kmsg(-1)
    assert follow().value == KernelLog((LogLine(5122417893000, ENA, 0, 1208),), 1, "/dev/kmsg")
    assert follow() == Reading(absence=Absence.BROKEN, detail="/dev/kmsg: I/O")
