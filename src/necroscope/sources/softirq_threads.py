"""How long the softirq thread of every core waited to run.

Reads    /proc/PID/schedstat of ksoftirqd/N, and of napi/DEVICE-ID where NAPI is threaded
Needs    a kernel with CONFIG_SCHED_INFO (schedstats or task delay accounting)
Costs    one small read per core, about 10 us each

The second number is the time spent runnable but not running. It is the best cheap evidence that a
core could not run its network work; the kernel adds it when the thread runs at last, so a stall
shows up in the second in which it ended.

    86093441 20451127 2154
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, only_line
from necroscope.sources.source import Read, Source

PF_KTHREAD = 0x00200000  # in the flags of /proc/PID/stat
KSOFTIRQD = re.compile(r"ksoftirqd/(?P<core>\d+)")
NAPI = re.compile(r"napi/(?P<device>.+)-\d+")


@dataclass(frozen=True, slots=True)
class SoftirqThread:
    """One kernel thread that runs softirqs. A NAPI thread belongs to a device, not to a core."""

    pid: int
    name: str
    core: int | None
    run_delay_ns: int


SoftirqThreads = tuple[SoftirqThread, ...]
Threads = tuple[tuple[int, str, int | None], ...]  # pid, name, core


def parse_run_delay(text: str) -> int:
    """Nanoseconds runnable but not running, from /proc/PID/schedstat."""
    fields = only_line(text).split()
    if len(fields) != 3:
        raise ValueError(f"{len(fields)} fields, not 3")
    return int(fields[1])


def is_kernel_thread(host: Host, pid: int) -> bool:
    """Whether a thread is the kernel's own: anybody may call a process ksoftirqd/0."""
    stat = host.word(f"/proc/{pid}/stat")
    fields = stat.rpartition(")")[2].split()
    return len(fields) > 6 and fields[6].isdigit() and bool(int(fields[6]) & PF_KTHREAD)


def open_softirq_threads(host: Host) -> Read[SoftirqThreads]:
    """A reader of the run delay of every softirq thread; the threads are looked up when one has gone."""
    threads = _find_threads(host)

    def read() -> Reading[SoftirqThreads]:
        nonlocal threads
        reading = _read_threads(host, threads)
        if reading.absence is Absence.NOT_SUPPORTED:
            # The NAPI threads of a device end when it is reset, and others take their place.
            threads = _find_threads(host)
            reading = _read_threads(host, threads)
        return reading

    return read


def _read_threads(host: Host, threads: Reading[Threads]) -> Reading[SoftirqThreads]:
    if threads.value is None:
        return threads.without_value()
    found = []
    accounted = False
    for pid, name, core in threads.value:
        schedstat = host.read(f"/proc/{pid}/schedstat")
        delay = schedstat.parsed(parse_run_delay)
        if delay.value is None:
            return delay.without_value()
        accounted = accounted or schedstat.value != "0 0 0\n"
        found.append(SoftirqThread(pid, name, core, delay.value))
    if not accounted:
        # What a kernel writes that could keep the times but does not: up to Linux 5.4 without `delayacct`.
        detail = f"/proc/{found[0].pid}/schedstat: 0 0 0 for a thread that has run"
        return Reading(absence=Absence.SWITCHED_OFF, detail=detail)
    return Reading(tuple(found))


def _find_threads(host: Host) -> Reading[Threads]:
    entries = host.names("/proc")
    if entries.value is None:
        return entries.without_value()
    threads: list[tuple[int, str, int | None]] = []
    for entry in entries.value:
        if not entry.isdigit():
            continue
        name = host.word(f"/proc/{entry}/comm")
        if not name.startswith(("ksoftirqd/", "napi/")) or not is_kernel_thread(host, int(entry)):
            continue
        if match := KSOFTIRQD.fullmatch(name):
            threads.append((int(entry), name, int(match["core"])))
        elif NAPI.fullmatch(name):
            threads.append((int(entry), name, None))
    if not threads and not host.shows_all_processes():
        return Reading(absence=Absence.NOT_PERMITTED, detail="/proc hides other users' processes")
    if not threads:
        return Reading(absence=Absence.NOT_SUPPORTED, detail="no ksoftirqd thread is visible in /proc")
    return Reading(tuple(threads))


SOFTIRQ_THREADS = Source(
    "softirq-threads",
    open_softirq_threads,
    to_permit="a /proc mounted without hidepid, or CAP_SYS_PTRACE",
    to_support="the host's PID namespace (hostPID in Kubernetes) and a kernel with CONFIG_SCHED_INFO",
)
