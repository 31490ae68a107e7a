"""Six incidents with the same symptom, a stalled transmit queue, and six different causes.

    with pinterest() as incident:
        ...start a recorder behind incident.wrapper, and let it see some quiet seconds
        struck = incident.strike()

Each has a systemd in a container, because a lab machine may have none: behind the wrapper, a recorder finds
that systemd where the host's would be, and all else as it is on the host. What stands for a long time in
an incident (zombies, a crash loop) is there from the beginning; `strike` does what takes seconds, with the
line of the driver near its end. In the end all is taken back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from lab.faults import crash_loops, nic_stalls
from lab.faults.crash_loops import CrashLoop, crash_looping
from lab.faults.hogs import kernel_hog, user_hog
from lab.faults.nic_stalls import Stall, transmit_queues, write_stall
from lab.faults.zombie_walks import Walk, zombie_walk
from lab.faults.zombies import zombies
from lab.machines.nspawn import Container
from necroscope.sources.nic_queues import NicQueue

HEALTHY = {"healthy.service": "[Service]\nExecStart=/bin/sleep infinity\nRestart=always\n"}
STRIKE_SECONDS = 6.0
LINE_AFTER_SECONDS = 5.3  # a driver complains after five
LEAKED_BEFORE = 5_000

# A /run of its own, in a mount namespace of its own, with the doors of the container's systemd in it.
SEE_SYSTEMD = 'mount -n -t tmpfs lab /run && ln -s "$0"/dbus "$0"/systemd /run/ && exec "$@"'


@dataclass(frozen=True, slots=True)
class Struck:
    """What a strike made. Times are by CLOCK_MONOTONIC."""

    stall: Stall
    begin_ns: int
    end_ns: int
    busy_core: int | None = None
    busy_pid: int | None = None
    walk: Walk | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """One that stands ready."""

    id: str
    queue: NicQueue
    machine: Container
    strike: Callable[[], Struck]
    loop: CrashLoop | None = None

    @property
    def core(self) -> int:
        """The one that serves the queue."""
        return self.queue.cores[0]

    @property
    def wrapper(self) -> tuple[str, ...]:
        """What to put before a command for it to see the container's systemd as that of the host."""
        run = f"/proc/{self.machine.leader}/root/run"
        return ("unshare", "--mount", "sh", "-c", SEE_SYSTEMD, run)


def why_not() -> str | None:
    """Why no incident can be made here, or None."""
    if (os.cpu_count() or 1) < 2:
        return "needs two cores: that of a queue and another"
    return crash_loops.why_not() or nic_stalls.why_not()


@contextmanager
def pinterest(cgroups_per_start: int = 100) -> Iterator[Incident]:
    """A unit that fails and leaks, and kubelet walking what it leaked on the core of the queue."""
    queue = _queue()
    with crash_looping(cgroups_per_start, others=HEALTHY) as loop:

        def strike() -> Struck:
            begin_ns = time.monotonic_ns()
            with zombie_walk(loop.cgroup, queue.cores[0], STRIKE_SECONDS) as walker:
                time.sleep(LINE_AFTER_SECONDS)
                stall = write_stall(queue)
                walk = walker.wait()
            return Struck(stall, begin_ns, walk.end_ns, walk.core, walker.process.pid, walk)

        yield Incident("pinterest", queue, loop.machine, strike, loop)


@contextmanager
def user_loop() -> Iterator[Incident]:
    """A loop in user space on the core of the queue: it delays others, and the kernel's network work not."""
    queue = _queue()
    with _healthy_node() as machine:
        yield Incident("user", queue, machine, lambda: _with_hog(queue, user_hog, queue.cores[0]))


@contextmanager
def kernel_loop_elsewhere() -> Iterator[Incident]:
    """A loop of long system calls on another core than that of the queue."""
    queue = _queue()
    other = next(core for core in sorted(os.sched_getaffinity(0)) if core not in queue.cores)
    with _healthy_node() as machine:
        yield Incident("other-core", queue, machine, lambda: _with_hog(queue, kernel_hog, other))


@contextmanager
def idle_zombies(count: int = LEAKED_BEFORE) -> Iterator[Incident]:
    """Thousands of zombies that nobody walks."""
    queue = _queue()
    with zombies(count), _healthy_node() as machine:
        yield Incident("zombies", queue, machine, lambda: _line_alone(queue))


@contextmanager
def clean_crash_loop(cgroups_per_start: int = 20) -> Iterator[Incident]:
    """A unit that fails, and whose cgroups are all freed."""
    queue = _queue()
    with crash_looping(cgroups_per_start, leaks=False, others=HEALTHY) as loop:
        yield Incident("crash-loop", queue, loop.machine, lambda: _line_alone(queue), loop)


@contextmanager
def idle_machine() -> Iterator[Incident]:
    """Nothing but the line."""
    queue = _queue()
    with _healthy_node() as machine:
        yield Incident("idle", queue, machine, lambda: _line_alone(queue))


INCIDENTS: dict[str, Callable[[], AbstractContextManager[Incident]]] = {
    "pinterest": pinterest,
    "user": user_loop,
    "other-core": kernel_loop_elsewhere,
    "zombies": idle_zombies,
    "crash-loop": clean_crash_loop,
    "idle": idle_machine,
}


def _queue() -> NicQueue:
    return transmit_queues()[0]


def _healthy_node() -> Container:
    return Container(units=HEALTHY, enable=tuple(HEALTHY))


def _with_hog(queue: NicQueue, hog: Callable[[int], AbstractContextManager[int]], core: int) -> Struck:
    begin_ns = time.monotonic_ns()
    with hog(core) as pid:
        time.sleep(LINE_AFTER_SECONDS)
        stall = write_stall(queue)
        time.sleep(STRIKE_SECONDS - LINE_AFTER_SECONDS)
    return Struck(stall, begin_ns, time.monotonic_ns(), core, pid)


def _line_alone(queue: NicQueue) -> Struck:
    stall = write_stall(queue)
    return Struck(stall, stall.time_ns, time.monotonic_ns())
