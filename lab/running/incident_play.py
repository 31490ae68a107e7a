"""What incidents of one symptom share: a queue that is said to stall, and what the diagnosis says of it.

    with healthy_node() as machine:
        play_incident(stage, Incident(machine, stalling_queue(), fault))

Each has a systemd in a container, because a lab machine may have none: behind a prefix, a recorder finds that
systemd where the host's would be, and all else as it is on the host. What stands for a long time in an
incident (zombies, a crash loop) is there before; the fault takes seconds, with the driver's line near its
end. The line is what is not real: the queue goes on, and the recorder is told to trust lines of programs.

Needs    root, perf, nspawn, a writable kernel log, and a transmit queue whose core is known
Costs    17 quiet seconds where samples are compared (the diagnosis asks for 15), 6 s of fault, 6 s more
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.faults.kernel_lines import TRUST
from lab.faults.nic_stalls import transmit_queues, write_stall
from lab.machines.nspawn import Container
from lab.running.stage import Stage
from necroscope.sources.nic_queues import NicQueue

HEALTHY = {"healthy.service": "[Service]\nExecStart=/bin/sleep infinity\nRestart=always\n"}
QUIET_SECONDS = 17.0
FEW_SECONDS = 8.0  # where nobody has to be told from others by samples
FAULT_SECONDS = 6.0
LINE_AFTER_SECONDS = 5.3  # a driver complains after five
AFTERWARDS_SECONDS = 6.0

# A /run of its own, in a mount namespace of its own, with the doors of the container's systemd in it. That is
# also shown where the host's would be among the cgroups.
SEE_SYSTEMD = """mount -n -t tmpfs lab /run && mount -n --bind "/proc/$0/cgroup" /proc/1/cgroup || exit
ln -s "/proc/$0/root/run/dbus" "/proc/$0/root/run/systemd" /run/ && exec "$@"
"""

Fault = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Incident:
    """One that stands ready: where, and what happens in its seconds."""

    machine: Container
    queue: NicQueue
    fault: Fault = nullcontext
    write_line: Callable[[NicQueue], object] = write_stall
    quiet_seconds: float = QUIET_SECONDS
    line_after_seconds: float = LINE_AFTER_SECONDS

    @property
    def core(self) -> int:
        """The one that serves the queue."""
        return self.queue.cores[0]


def stalling_queue() -> NicQueue:
    """The queue of this machine that is said to stall."""
    return transmit_queues()[0]


def other_core(queue: NicQueue) -> int:
    """One that does not serve the queue."""
    return next(core for core in sorted(os.sched_getaffinity(0)) if core not in queue.cores)


def healthy_node() -> Container:
    """A systemd with one service, which runs."""
    return Container(units=HEALTHY, enable=tuple(HEALTHY))


def seeing_systemd(machine: Container) -> tuple[str, ...]:
    """What to put before a command for it to see the container's systemd as that of the host."""
    return ("unshare", "--mount", "sh", "-c", SEE_SYSTEMD, str(machine.leader))


def play_incident(stage: Stage, incident: Incident) -> None:
    """Record quiet seconds, the fault with the line, and some seconds more; then ask what it was."""
    stage.stand_in("the driver's line: it was written into the kernel log, and the queue went on")
    queue = incident.queue
    stage.results["made"] = {
        "device": queue.device,
        "queue": queue.queue,
        "irq_name": queue.irq_name,
        "core": incident.core,
        **stage.results.get("made", {}),
    }
    with stage.recording(TRUST, prefix=seeing_systemd(incident.machine)):
        stage.tell(f"{incident.quiet_seconds:g} quiet seconds")
        time.sleep(incident.quiet_seconds)
        strike(stage, incident)
        time.sleep(AFTERWARDS_SECONDS)
    ask_why(stage)


def strike(stage: Stage, incident: Incident) -> None:
    """The fault for its seconds, with the line near its end."""
    where = f"{incident.queue.device} queue {incident.queue.queue}"
    with incident.fault():
        time.sleep(incident.line_after_seconds)
        stage.tell(f"the driver's line: {where}, which core {incident.core} serves, stands still")
        incident.write_line(incident.queue)
        time.sleep(FAULT_SECONDS - LINE_AFTER_SECONDS)


def ask_why(stage: Stage) -> None:
    """What was recorded of stalls, and the diagnosis, with the evidence of its links and rivals by name."""
    events = stage.ask("events")["events"]
    stage.results["stalls"] = [event for event in events if event["kind"] == "nic-reset"]
    diagnosis: dict[str, Any] = stage.ask("diagnose")["diagnosis"]
    stage.results["diagnosis"] = diagnosis
    stage.results["evidence"] = {link["id"]: by_name(link) for link in diagnosis["chain"]}
    stage.results["said"] = {link["id"]: " ".join(by_name(link)) for link in diagnosis["chain"]}
    rivals = (*diagnosis["standing"], *diagnosis["ruled_out"])
    stage.results["weighed"] = {rival["id"]: by_name(rival) for rival in rivals}
    stage.tell(diagnosis["verdict"])


def by_name(explanation: dict[str, Any]) -> dict[str, Any]:
    """The evidence of a link, or of a rival."""
    return {fact["name"]: fact["value"] for fact in explanation["evidence"]}


@contextmanager
def busy(stage: Stage, core: int, hog: Callable[[int], AbstractContextManager[int]]) -> Iterator[None]:
    """A process that fills a core; its name and the core go to what was made."""
    with hog(core) as pid:
        stage.tell(f"core {core} gets busy")
        yield
        # Only now: at first it has the name of what pins it to the core.
        process = Path(f"/proc/{pid}/comm").read_text().strip()
        stage.results["made"] |= {"busy_core": core, "process": process}
