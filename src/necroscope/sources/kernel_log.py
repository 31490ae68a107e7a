"""The kernel log, as it arrives.

Reads    /dev/kmsg; else the syslog call; else the journal (journalctl --dmesg)
Needs    CAP_SYSLOG where kernel.dmesg_restrict is 1; for the journal, the group systemd-journal
Costs    nothing while nothing is logged; about 5 us a line

Times are those of the kernel's log clock, which is not CLOCK_MONOTONIC but runs beside it. Lines
before the last `dmesg --clear` are left out, as dmesg itself does. A facility other than 0 means
that a program wrote the line.

    4,1208,5122417893,-;ena 0000:00:05.0 eth0: TX q 5 is paused for too long ...
     SUBSYSTEM=pci
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from collections.abc import Callable
from ctypes import CDLL, create_string_buffer, get_errno
from dataclasses import dataclass

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import LARGEST_FILE_BYTES, Host, missing
from necroscope.sources.source import Read, Source

RECORD = re.compile(r"(?P<priority>\d+),(?P<sequence>\d+),(?P<us>\d+),[^;]*;(?P<text>.*)")
SYSLOG_LINE = re.compile(r"<(?P<priority>\d+)>\[ *(?P<s>\d+)\.(?P<us>\d{6})\](?:\[ *[TC]\d+\])? (?P<text>.*)")
SYSLOG_READ_ALL, SYSLOG_SIZE_BUFFER = 3, 10
RECORD_BYTES = 8192  # the kernel's own limit for one record


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the kernel log."""

    time_ns: int  # on the kernel's log clock
    text: str
    facility: int
    sequence: int


@dataclass(frozen=True, slots=True)
class KernelLog:
    """The lines that arrived since the reading before; the first reading has all that is still there."""

    lines: tuple[LogLine, ...]
    lost: int  # times the kernel overwrote lines before we read them
    way: str


def parse_record(record: str) -> LogLine | None:
    """One record of /dev/kmsg; None for what is not one (a line of key=value details, say)."""
    match = RECORD.match(record)
    if not match:
        return None
    text = re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), match["text"])
    return LogLine(int(match["us"]) * 1000, text, int(match["priority"]) >> 3, int(match["sequence"]))


def parse_syslog(text: str) -> list[LogLine]:
    """What the syslog call returns; its lines have no sequence, so their place stands in for it."""
    lines = []
    for number, line in enumerate(text.splitlines()):
        if match := SYSLOG_LINE.match(line):
            time_ns = int(match["s"]) * 10**9 + int(match["us"]) * 1000
            lines.append(LogLine(time_ns, match["text"], int(match["priority"]) >> 3, number))
    return lines


def parse_journal(text: str) -> list[LogLine]:
    """What `journalctl --output=json` prints, one object a line."""
    lines = []
    for number, line in enumerate(text.splitlines()):
        entry = json.loads(line)
        message = entry.get("MESSAGE") or ""
        if isinstance(message, list):  # the journal's way to write bytes that are not UTF-8
            message = bytes(message).decode(errors="replace")
        time_ns = int(entry.get("_SOURCE_MONOTONIC_TIMESTAMP") or entry["__MONOTONIC_TIMESTAMP"]) * 1000
        lines.append(LogLine(time_ns, message, int(entry.get("SYSLOG_FACILITY", 0)), number))
    return lines


def open_kernel_log(host: Host) -> Read[KernelLog]:
    """A reader of new lines, by the first way that this machine permits."""
    refusals: list[Reading[KernelLog]] = []
    for open_way in (_open_kmsg, _open_syslog, _open_journal):
        read = open_way(host)
        if callable(read):
            return read
        refusals.append(read)
    # Of several reasons, a missing permission is the one a person can do something about.
    permission = [r for r in refusals if r.absence is Absence.NOT_PERMITTED]
    detail = "; ".join(r.detail for r in refusals)
    refusal = Reading[KernelLog](absence=(permission or refusals)[0].absence, detail=detail)
    return lambda: refusal


def _open_kmsg(host: Host) -> Read[KernelLog] | Reading[KernelLog]:
    path = host.path("/dev/kmsg")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return _read_recorded(host, descriptor)
        os.lseek(descriptor, 0, os.SEEK_DATA)
        return _follow_kmsg(descriptor)
    except OSError as error:
        return missing("/dev/kmsg", error)


def _follow_kmsg(descriptor: int) -> Read[KernelLog]:
    def read() -> Reading[KernelLog]:
        lines: list[LogLine] = []
        lost = 0
        while True:
            try:
                record = os.read(descriptor, RECORD_BYTES)
            except BlockingIOError:
                return Reading(KernelLog(tuple(lines), lost, "/dev/kmsg"))
            except BrokenPipeError:  # the ring went around; the next read gives the oldest line left
                lost += 1
                continue
            if line := parse_record(record.decode(errors="replace")):
                lines.append(line)

    return read


def _read_recorded(host: Host, descriptor: int) -> Read[KernelLog]:
    """A recorded tree has the records in a plain file."""
    with os.fdopen(descriptor, "rb") as file:
        text = file.read(LARGEST_FILE_BYTES).decode(errors="replace")
    lines = tuple(line for record in text.splitlines() if (line := parse_record(record)))
    pending = [lines]

    def read() -> Reading[KernelLog]:
        if not lines:
            return Reading(
                absence=Absence.BROKEN, detail="/dev/kmsg: a plain file without kernel log records"
            )
        return Reading(KernelLog(pending.pop() if pending else (), 0, "/dev/kmsg (recorded)"))

    return read


def _open_syslog(host: Host) -> Read[KernelLog] | Reading[KernelLog]:
    if not host.is_live:
        return Reading(absence=Absence.NOT_SUPPORTED, detail="syslog call: not the running machine")

    def fetch() -> list[LogLine]:
        libc = CDLL(None, use_errno=True)
        size = libc.klogctl(SYSLOG_SIZE_BUFFER, None, 0)
        buffer = create_string_buffer(max(size, 1))
        read = libc.klogctl(SYSLOG_READ_ALL, buffer, size) if size >= 0 else -1
        if read < 0:
            raise OSError(get_errno(), os.strerror(get_errno()))
        return parse_syslog(buffer.raw[:read].decode(errors="replace"))

    try:
        fetch()
    except OSError as error:
        return missing("syslog call", error)
    return _new_lines(fetch, "syslog call")


def _open_journal(host: Host) -> Read[KernelLog] | Reading[KernelLog]:
    command = ["journalctl", "--dmesg", "--output=json", "--no-pager", "--quiet"]
    command += ["--boot"] if host.is_live else [f"--root={host.root}"]

    def fetch() -> list[LogLine]:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return parse_journal(done.stdout)

    try:
        lines = fetch()
    except OSError as error:
        return Reading(absence=Absence.NOT_SUPPORTED, detail=f"journalctl: {error.strerror}")
    except (subprocess.SubprocessError, ValueError) as error:
        return Reading(absence=Absence.BROKEN, detail=f"journalctl: {error}")
    if not lines:
        return Reading(absence=Absence.NOT_PERMITTED, detail="journalctl shows no kernel line")
    return _new_lines(fetch, "journalctl")


def _new_lines(fetch: Callable[[], list[LogLine]], way: str) -> Read[KernelLog]:
    """For ways that give the whole log each time: what comes after the last line seen."""
    seen = [0]  # lines already handed on that carry the newest time
    newest = [-1]

    def read() -> Reading[KernelLog]:
        lines = fetch()
        later = [line for line in lines if line.time_ns >= newest[0]]
        fresh = later[seen[0] :]
        if fresh:
            newest[0] = fresh[-1].time_ns
            seen[0] = sum(line.time_ns == newest[0] for line in lines)
        return Reading(KernelLog(tuple(fresh), 0, way))

    return read


KERNEL_LOG = Source(
    "kernel-log",
    open_kernel_log,
    to_permit="CAP_SYSLOG, or run as root",
    to_support="/dev/kmsg, or a journal",
)
