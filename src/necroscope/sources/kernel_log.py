"""The kernel log, as it arrives.

Reads    /dev/kmsg; else the syslog call; else the journal (journalctl --dmesg)
Needs    CAP_SYSLOG where kernel.dmesg_restrict is 1; for the journal, the group systemd-journal
Costs    nothing while nothing is logged; about 5 us a line. The syslog call: 1 ms a look at 130 kB of
         log, and 6 ms where a line is new, since the whole log is parsed again

Times are those of the kernel's log clock, which is not CLOCK_MONOTONIC but runs beside it. Lines
before the last `dmesg --clear` are left out, as dmesg itself does. A facility other than 0 means
that a program wrote the line: whatever priority a program asks for, the kernel never gives it
facility 0. Such a line is no evidence, unless `--trust-kmsg` or `[kernel_log] trust_kmsg` say so.

    4,1208,5122417893,-;ena 0000:00:05.0 eth0: TX q 5 is paused for too long ...
     SUBSYSTEM=pci
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import weakref
from collections.abc import Callable
from ctypes import CDLL, create_string_buffer, get_errno
from dataclasses import dataclass

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing, whole_lines
from necroscope.sources.source import Read, Source

RECORD = re.compile(r"(?P<priority>\d+),(?P<sequence>\d+),(?P<us>\d+),[^;]*;(?P<text>.*)")
SYSLOG_LINE = re.compile(r"<(?P<priority>\d+)>\[ *(?P<s>\d+)\.(?P<us>\d{6})\](?:\[ *[TC]\d+\])? (?P<text>.*)")
ESCAPES = re.compile(r"(?:\\x[0-9a-f]{2})+")
SYSLOG_READ_ALL, SYSLOG_SIZE_BUFFER = 3, 10
RECORD_BYTES = 8192  # the kernel's own limit for one record
KMSG_DEVICE = os.makedev(1, 11)  # a container may have /dev/null or a console in its place
KERNEL, USER = 0, 1  # facilities of syslog(3); the kernel gives a program's lines USER or a higher one


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the kernel log."""

    time_ns: int  # on the kernel's log clock
    text: str
    facility: int
    sequence: int

    @property
    def is_by_program(self) -> bool:
        """Whether a program wrote it to /dev/kmsg."""
        return self.facility != KERNEL


@dataclass(frozen=True, slots=True)
class KernelLog:
    """The lines that arrived since the reading before; the first reading has all that is still there."""

    lines: tuple[LogLine, ...]
    lost: int  # times the kernel overwrote lines before we read them
    way: str
    trusts_programs: bool = False  # whoever read it asked to take the lines of programs for the kernel's own


def parse_record(record: str) -> LogLine | None:
    """One record of /dev/kmsg; None for what is not one (a line of key=value details, say)."""
    match = RECORD.match(record)
    if not match:
        return None
    # Every byte that is not printable ASCII is escaped by itself, those of one UTF-8 letter too.
    text = ESCAPES.sub(
        lambda m: bytes.fromhex(m[0].replace("\\x", "")).decode(errors="replace"), match["text"]
    )
    return LogLine(int(match["us"]) * 1000, text, int(match["priority"]) >> 3, int(match["sequence"]))


def parse_recorded(text: str) -> tuple[LogLine, ...]:
    """Records of /dev/kmsg one after the other, as a recorded tree has them in a plain file."""
    lines = tuple(line for record in whole_lines(text) if (line := parse_record(record)))
    if not lines:
        raise ValueError("a plain file without kernel log records")
    return lines


def parse_syslog(text: str) -> list[LogLine]:
    """Return the records that the syslog call returns; their place stands in for a sequence.

    The kernel writes the same prefix before each line of a record. A user can bring a line break into one, by
    the name of something that the kernel complains about: what follows it counts as a program's line.
    """
    lines: list[LogLine] = []
    prefix = ""
    for number, line in enumerate(text.split("\n")):
        if match := SYSLOG_LINE.match(line):
            before, prefix = prefix, line[: match.start("text")]
            time_ns = int(match["s"]) * 10**9 + int(match["us"]) * 1000
            facility = (int(match["priority"]) >> 3) or (USER if prefix == before else KERNEL)
            lines.append(LogLine(time_ns, match["text"], facility, number))
    return lines


def parse_journal(text: str) -> list[LogLine]:
    """What `journalctl --output=json` prints, one object a line."""
    lines = []
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else ()):
        entry = json.loads(line)
        if not isinstance(entry, dict):
            raise ValueError(f"line {number + 1} is no object")
        message = entry.get("MESSAGE") or ""
        if isinstance(message, list):  # the journal's way to write bytes that are not UTF-8
            message = bytes(message).decode(errors="replace")
        time_ns = int(entry.get("_SOURCE_MONOTONIC_TIMESTAMP") or entry["__MONOTONIC_TIMESTAMP"]) * 1000
        # Of the kernel's own lines the journal always says so.
        lines.append(LogLine(time_ns, message, int(entry.get("SYSLOG_FACILITY", USER)), number))
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
    refusal: Reading[KernelLog] = Reading(absence=(permission or refusals)[0].absence, detail=detail)
    return lambda: refusal


def _open_kmsg(host: Host) -> Read[KernelLog] | Reading[KernelLog]:
    try:
        path = host.path("/dev/kmsg")
        status = path.stat()
        if stat.S_ISREG(status.st_mode) and not host.is_live:
            return _open_recorded(host)
        # The device of an image or a recorded tree would give us this machine's log, and a plain file on a
        # running machine was written by a program.
        if not host.is_live or not stat.S_ISCHR(status.st_mode) or status.st_rdev != KMSG_DEVICE:
            return Reading(absence=Absence.BROKEN, detail="/dev/kmsg is not the kernel's log device")
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return missing("/dev/kmsg", error)
    os.lseek(descriptor, 0, os.SEEK_DATA)
    read = _follow_kmsg(descriptor)
    weakref.finalize(read, os.close, descriptor)
    return read


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
            except OSError as error:
                return missing("/dev/kmsg", error)
            if line := parse_record(record.decode(errors="replace")):
                lines.append(line)

    return read


def _open_recorded(host: Host) -> Read[KernelLog] | Reading[KernelLog]:
    recorded = host.read("/dev/kmsg").parsed(parse_recorded)
    if recorded.value is None:
        return recorded.without_value()
    pending = [recorded.value]

    def read() -> Reading[KernelLog]:
        return Reading(KernelLog(pending.pop() if pending else (), 0, "/dev/kmsg (recorded)"))

    return read


def _open_syslog(host: Host) -> Read[KernelLog] | Reading[KernelLog]:
    if not host.is_live:
        return Reading(absence=Absence.NOT_SUPPORTED, detail="syslog call: not the running machine")

    shown: tuple[bytes, list[LogLine]] = (b"", [])

    def fetch() -> Reading[list[LogLine]]:
        nonlocal shown
        libc = CDLL(None, use_errno=True)
        size = libc.klogctl(SYSLOG_SIZE_BUFFER, None, 0)
        buffer = create_string_buffer(max(size, 1))
        read = libc.klogctl(SYSLOG_READ_ALL, buffer, size) if size >= 0 else -1
        if read < 0:
            return missing("syslog call", OSError(get_errno(), os.strerror(get_errno())))
        # To parse a whole log takes 25 ms, and most seconds bring no line.
        if (data := buffer.raw[:read]) == shown[0]:
            return Reading(shown[1])
        lines = parse_syslog(data.decode(errors="replace"))
        if read and not lines:
            return Reading(
                absence=Absence.SWITCHED_OFF, detail="syslog call: lines without a time (printk.time)"
            )
        shown = data, lines
        return Reading(lines)

    return _new_lines(fetch, "syslog call")


def _open_journal(host: Host) -> Read[KernelLog] | Reading[KernelLog]:
    command = ["journalctl", "--dmesg", "--output=json", "--no-pager", "--quiet"]
    command += ["--boot"] if host.is_live else [f"--root={host.root}"]

    def fetch() -> Reading[list[LogLine]]:
        try:
            # In a session of its own: a Ctrl-C meant for us would end it, and look like a broken journal.
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=10, check=True, start_new_session=True
            )
            lines = parse_journal(done.stdout)
        except OSError as error:
            return Reading(absence=Absence.NOT_SUPPORTED, detail=f"journalctl: {error.strerror}")
        except (subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
            return Reading(absence=Absence.BROKEN, detail=f"journalctl: {error}")
        if not lines:
            absence = Absence.NOT_PERMITTED if host.is_live else Absence.NOT_SUPPORTED
            return Reading(absence=absence, detail="journalctl shows no kernel line")
        return Reading(lines)

    return _new_lines(fetch, "journalctl")


def _new_lines(fetch: Callable[[], Reading[list[LogLine]]], way: str) -> Read[KernelLog] | Reading[KernelLog]:
    """For ways that give the whole log each time: a reader of what came since, or why they give none."""
    first = fetch()
    if first.value is None:
        return first.without_value()
    before: list[LogLine] = []

    def read() -> Reading[KernelLog]:
        nonlocal before
        now = fetch()
        if now.value is None:
            return now.without_value()
        fresh = lines_since(before, now.value)
        lost = 1 if before and fresh and len(fresh) == len(now.value) else 0
        before = now.value
        return Reading(KernelLog(tuple(fresh), lost, way))

    return read


def lines_since(before: list[LogLine], now: list[LogLine]) -> list[LogLine]:
    """What a log shows now and did not show before; its oldest lines may have gone meanwhile.

    Lines are told by their place: times may run backwards by some microseconds between two cores.
    """
    if now is before:
        return []
    seen = [(line.time_ns, line.text) for line in before]
    shown = [(line.time_ns, line.text) for line in now]
    for gone in range(len(seen)):
        if seen[gone:] == shown[: len(seen) - gone]:
            return now[len(seen) - gone :]
    return now


KERNEL_LOG = Source(
    "kernel-log",
    open_kernel_log,
    is_since_last=True,
    to_permit="CAP_SYSLOG, or run as root",
    to_support="/dev/kmsg, or a journal",
)
