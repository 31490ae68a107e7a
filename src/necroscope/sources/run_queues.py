"""How long runnable tasks waited on every core.

Reads    /proc/schedstat
Needs    a kernel with CONFIG_SCHEDSTATS
Costs    one read: 0.1 ms

    version 17
    timestamp 4294937296
    cpu0 0 0 0 0 0 0 86093441 20451127 2154
"""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.reading import Reading
from necroscope.sources.host import Host, whole_lines
from necroscope.sources.source import Read, Source


@dataclass(frozen=True, slots=True)
class RunQueue:
    """Nanoseconds since boot that tasks ran and waited on one core.

    Waiting is not specific: user-space hogs add to it without harming a network queue.
    """

    core: int
    running_ns: int
    waiting_ns: int


RunQueues = tuple[RunQueue, ...]


def parse_run_queues(text: str) -> RunQueues:
    """Parse /proc/schedstat; the cpu lines have had the same layout since version 15."""
    queues = []
    for line in whole_lines(text):
        name, *fields = line.split()
        if name.startswith("cpu"):
            queues.append(RunQueue(int(name[3:]), int(fields[6]), int(fields[7])))
    if not queues:
        raise ValueError("no cpu line")
    return tuple(queues)


def open_run_queues(host: Host) -> Read[RunQueues]:
    """A reader of every core's run queue."""

    def read() -> Reading[RunQueues]:
        return host.read("/proc/schedstat").parsed(parse_run_queues)

    return read


RUN_QUEUES = Source("run-queues", open_run_queues, to_support="a kernel built with CONFIG_SCHEDSTATS=y")
