"""The machines that are probed: Debian's kernels and any other in guests, and the one that this runs on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.machines.kernels import KernelError, kernel_from, kernel_of
from lab.machines.qemu import Cgroups, Guest

ROOT = Path(__file__).parents[3]
BOOT = [sys.executable, "-m", "lab.scenarios.kernels.machines"]
# Should the runner be killed, the probe is interrupted, and undoes what it made.
END_WITH_RUNNER = ["setpriv", "--pdeathsig", "INT"]
PROBE = [sys.executable, "-m", "lab.scenarios.kernels.probe"]
DISK = "/var/tmp"
GUEST_SECONDS = 300.0
PROBE_SECONDS = GUEST_SECONDS + 120.0  # with the kernel's download before, and what its end takes
UNDO_SECONDS = 60.0
FASTER = "mitigations=off"  # under emulation they cost much, and guard nothing
NO_KERNEL = 3  # exit code


class ProbeError(RuntimeError):
    """The probe failed; the message has what it said."""


@dataclass(frozen=True, slots=True)
class Probed:
    """One to be probed. Its id is that of a part of the scenario, and a key of the results."""

    id: str
    name: str  # the head of its column
    series: str = ""  # of Debian; empty: not one of Debian's
    kernel: Path | None = None
    cgroups: Cgroups = "v2"

    @property
    def is_guest(self) -> bool:
        """Whether it is booted, and not the machine that this runs on."""
        return bool(self.series or self.kernel)


DEBIAN: tuple[tuple[str, Cgroups], ...] = (
    ("5.10", "v1"),
    ("5.10", "v2"),
    ("6.1", "v2"),
    ("6.1", "hybrid"),
    ("6.12", "v2"),
)
HERE = Probed("here", "this machine")


def machines(kernel: Path | None) -> list[Probed]:
    """Those of the table; with a kernel of somebody's choice, that one in both layouts."""
    if kernel:
        layouts: tuple[Cgroups, ...] = ("v1", "v2")
        return [Probed(f"given-{one}", f"given, {one}", kernel=kernel, cgroups=one) for one in layouts]
    guests = [
        Probed(f"debian-{series.replace('.', '-')}-{one}", f"Debian {series}, {one}", series, cgroups=one)
        for series, one in DEBIAN
    ]
    return [*guests, HERE]


@contextmanager
def probing(machine: Probed) -> Iterator[subprocess.Popen[str]]:
    """A process that probes it. If it is no longer wanted, it is asked to end, so that it can undo.

    It has a session of its own: a Ctrl-C is for us, who then interrupt it, once.
    """
    way = [*BOOT, machine.id, *([str(machine.kernel)] if machine.kernel else [])]
    command = way if machine.is_guest else [*PROBE, "here", DISK]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*END_WITH_RUNNER, *command], cwd=ROOT, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            _interrupt(process)


def _interrupt(process: subprocess.Popen[str]) -> None:
    """Have it undo what it made; one that takes too long is ended, with its guest."""
    try:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=UNDO_SECONDS)
    finally:
        with suppress(ProcessLookupError):  # nobody of its session is left
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def result_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What the probe found; KernelError where there is no such kernel."""
    output, errors = process.communicate(timeout=PROBE_SECONDS)
    if process.returncode == NO_KERNEL:
        raise KernelError(errors.strip())
    if process.returncode:
        raise ProbeError(f"the probe ended with {process.returncode}: {errors.strip()[-2000:]}")
    result: dict[str, Any] = json.loads(output)
    return result


def main() -> int:
    """Boot one of them, and probe it: in a process of its own, several can be booted at once."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    id, *given = sys.argv[1:]
    (machine,) = (one for one in machines(Path(given[0]) if given else None) if one.id == id)
    try:
        kernel = kernel_from(machine.kernel) if machine.kernel else kernel_of(machine.series)
    except KernelError as error:
        sys.stderr.write(str(error))
        return NO_KERNEL
    guest = Guest(kernel, cgroups=machine.cgroups, kernel_arguments=FASTER, hostname="node")
    done = guest.run(["env", "-C", str(ROOT), *PROBE, "guest"], timeout_seconds=GUEST_SECONDS)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
