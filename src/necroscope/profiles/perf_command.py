"""The command line of perf's rolling capture, and how to do with less where perf refuses.

We ask for everything and read the complaint, rather than compare versions: distributions carry options
into older perfs, and leave libraries out of newer ones. Never -z: perf writes the parameters of the
compression into the first file of a session only, so the later ones could not be read.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from necroscope.sources.host import Host

DATA_NAME = "perf.data"
MOST_RATE_FILE = "/proc/sys/kernel/perf_event_max_sample_rate"
EVENT_FOLDERS = ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events")
CPU_COUNTERS = ("cpu", "cpu_core", "cpu_atom")  # names in /sys/bus/event_source/devices; Arm: armv8_*


@dataclass(frozen=True, slots=True)
class Wish:
    """Something that the capture is better with, and can do without."""

    arguments: tuple[str, ...]
    lost: str  # what is lost without it
    words: tuple[str, ...]  # any of them in perf's complaint means this one
    instead: tuple[str, ...] = ()

    @property
    def is_tracepoint(self) -> bool:
        """The kernel may deny a tracepoint and permit all the rest."""
        return self.arguments[0] == "-e" and ":" in self.arguments[1]


ROLLING = Wish(
    ("--switch-output=signal",),
    "one file a session: it can be read only when the session has ended",
    ("switch-output",),
    instead=("-B", "-N"),  # implied by it: no hunt for build ids at the end
)
CYCLES = Wish(
    ("-e", "cycles"),
    "a timer instead of hardware cycles: code that runs with interrupts off shows where they go on again",
    ("cycles", "overflow-interrupts", "PMU"),
    instead=("-e", "cpu-clock"),
)
CLOCK = Wish(
    ("-k", "CLOCK_MONOTONIC"),
    "sample times on perf's own clock: they may be off against our readings by milliseconds",
    ("clockid",),
)
CONTROL = Wish(
    ("--control=fd:{control},{control}",),
    "perf cannot be asked: samples of a quiet core reach the file late, and readiness is guessed",
    ("`control", "--control", "ctl_fd", "ctl-fd"),
)
PRINTK = Wish(
    ("-e", "printk:console"),
    "no lines of the kernel log among the samples",
    ("printk:console",),
)
NIC_TIMEOUT = Wish(
    ("-e", "net:net_dev_xmit_timeout"),
    "no stack of the moment in which a NIC queue timed out",
    ("net:net_dev_xmit_timeout",),
)
MORTAL = Wish(
    ("setpriv", "--pdeathsig", "INT"),
    "perf outlives a recorder that is killed, until the next one starts",
    ("setpriv", "pdeathsig"),
)
PROC_MAPS = Wish(
    # In ms. perf reads all mappings at every switch: of four processes with 30,000 in 2 s, now 0.5 s.
    ("--proc-map-timeout", "100"),
    "reading the mappings of a process may take perf half a second",
    ("proc-map-timeout",),
)
FEW_MAPS = Wish(  # only after mappings have filled a file
    ("--synth", "task"),
    "all mappings of all processes are read for every segment, however many there are",
    ("`synth", "--synth"),
)
BUILD_IDS = Wish(
    ("--buildid-mmap",),
    "no build ids: symbols of replaced files may be wrong",
    ("buildid-mmap", "build id"),
)
RINGS = Wish(
    ("-m", "128"),  # 512 KiB a core
    "small rings: samples may be lost in a burst",
    ("mmap_pages", "mmap-pages", "mapping pages", "failed to mmap"),
)
FLIGHT = Wish(
    ("--overwrite",),
    "no flight recording: all samples are written, not only those before a switch",
    ("overwrite", "backward"),
)

# The dearest first: where a complaint names none of them, the last is given up.
WISHES = (
    ROLLING,
    CYCLES,
    CLOCK,
    CONTROL,
    PRINTK,
    NIC_TIMEOUT,
    MORTAL,
    PROC_MAPS,
    FEW_MAPS,
    BUILD_IDS,
    RINGS,
    FLIGHT,
)
NO_NAMES = "functions of programs have no names: their mappings have filled a file"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A complaint that no other options would help against."""

    words: tuple[str, ...]
    reason: str
    hint: str = ""
    passes: bool = False  # whether it may go away by itself, so that we try again

    @property
    def sentence(self) -> str:
        """What is wrong, and what to do."""
        return f"{self.reason}: {self.hint}" if self.hint else self.reason


DISK = Obstacle(
    ("No space left", "quota exceeded", "Read-only file system", "failed to write", "failed to open /"),
    "the capture cannot be written",
    passes=True,
)
NOT_INSTALLED = Obstacle(
    ("perf not found for kernel",),  # what Ubuntu's /usr/bin/perf says
    "perf is not installed for this kernel",
    "install linux-tools of the running kernel",
)
NOT_PERMITTED = Obstacle(
    (
        "Access to performance monitoring",
        "perf_event_paranoid",
        "may not have permission",
        "No permission",
        "Permission denied",
        "Operation not permitted",
    ),
    "not permitted",
    "give us CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8), or set kernel.perf_event_paranoid to 0",
)
FILTERED = Obstacle(
    ("Function not implemented",),  # what Podman and CRI-O answer in the kernel's place
    "not permitted",
    "the container's seccomp profile has to allow perf_event_open with CAP_PERFMON",
)
OBSTACLES = (DISK, NOT_INSTALLED, FILTERED, NOT_PERMITTED)


@dataclass(frozen=True, slots=True)
class PerfCommand:
    """What is asked of perf, and what it has refused."""

    rate: int  # samples a second and core
    wishes: tuple[Wish, ...]
    refused: tuple[Wish, ...] = ()
    notes: tuple[str, ...] = ()

    def has(self, wish: Wish) -> bool:
        """Whether perf is asked for it."""
        return wish in self.wishes and wish not in self.refused

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is lost, in plain sentences."""
        return (*self.notes, *(wish.lost for wish in self.refused))

    @property
    def description(self) -> str:
        """What is sampled, and how often."""
        return f"{'cycles' if self.has(CYCLES) else 'cpu-clock'} at {self.rate} Hz"

    def line(self, perf: str, folder: Path, control: int) -> list[str]:
        """The command line; `control` is a socket that perf inherits, to be asked and to answer."""
        line = [*MORTAL.arguments] if self.has(MORTAL) else []
        line += [perf, "record", "-a", "-g", "-F", str(self.rate)]
        for wish in self.wishes:
            if wish is not MORTAL:
                parts = wish.arguments if self.has(wish) else wish.instead
                line += [part.format(control=control) for part in parts]
        return [*line, "-o", str(folder / DATA_NAME)]


def plan_command(
    host: Host, rate: int, *, flight: bool = False, few_maps: bool = False, refused: tuple[Wish, ...] = ()
) -> PerfCommand:
    """Everything we wish for that this machine has, and that is not known to be refused."""
    absent = [wish for wish in WISHES if wish.is_tracepoint and not _has_tracepoint(host, wish.arguments[1])]
    if not _has_cpu_counters(host):
        absent.append(CYCLES)
    if shutil.which(MORTAL.arguments[0]) is None:
        absent.append(MORTAL)
    unwanted = [wish for wish, wanted in ((FLIGHT, flight), (FEW_MAPS, few_maps)) if not wanted]
    wishes = tuple(wish for wish in WISHES if wish not in unwanted)
    notes = (NO_NAMES,) if few_maps and FEW_MAPS not in refused else ()
    command = PerfCommand(rate, wishes, tuple(dict.fromkeys((*refused, *absent))), notes)
    most = host.word(MOST_RATE_FILE)
    if most.isdigit() and int(most) < rate:
        note = f"{most} samples a second instead of {rate}: kernel.perf_event_max_sample_rate"
        return replace(command, rate=int(most), notes=(*notes, note))
    return command


def do_with_less(command: PerfCommand, stderr: str, *, has_worked: bool = False) -> PerfCommand | Obstacle:
    """What to try after perf refused a command; an obstacle where trying again with less is in vain.

    A command that has worked before gives up only what the complaint names: the rest is bad weather.
    """
    complaint = complaint_in(stderr)
    left = [wish for wish in command.wishes if command.has(wish)]
    named = [wish for wish in left if any(word in complaint for word in wish.words)]
    denied_alone = [wish for wish in named if wish.is_tracepoint]
    if not denied_alone:
        for obstacle in OBSTACLES:
            if any(word in complaint for word in obstacle.words):
                return obstacle if obstacle.hint else replace(obstacle, hint=last_line(complaint))
    drop = denied_alone or named or ([] if has_worked else left)
    if not drop:
        return Obstacle((), f"perf refused: {last_line(complaint) or 'no reason given'}", passes=has_worked)
    return replace(command, refused=(*command.refused, drop[-1]))


def complaint_in(stderr: str) -> str:
    """perf's own words, without its progress; the list of all options only where there is nothing else."""
    complaint, _, usage = stderr.partition(" Usage:")
    lines = [
        line for line in complaint.splitlines() if line.strip() and not line.startswith("[ perf record:")
    ]
    return "\n".join(lines) or usage


def last_line(text: str) -> str:
    """The last line that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def _has_cpu_counters(host: Host) -> bool:
    devices = host.names("/sys/bus/event_source/devices").value or ()
    return any(name in CPU_COUNTERS or name.startswith("armv8_") for name in devices)


def _has_tracepoint(host: Host, event: str) -> bool:
    # Its id rather than its folder: perf needs to read it, and may not where tracefs is root's alone.
    name = event.replace(":", "/")
    return any(host.word(f"{folder}/{name}/id") for folder in EVENT_FOLDERS)
