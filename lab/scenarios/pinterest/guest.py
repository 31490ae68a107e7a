"""The real starvation: a NIC, the core that serves it, and a reader of statistics on that core, in a guest.

Nothing is injected. In a QEMU guest with the given kernel, datagrams go out and come back through a virtio
NIC while a process reads the statistics of memory cgroups on the core that serves it: without zombies, with
them, and when they are purged. Other loads are there for comparison. Where the zombies are walked, the
program is asked in the guest what it sees.

Needs    root, QEMU 7.2, and a kernel with cgroup v1
Costs    133 s on two cores by software emulation, 199 s on a busy machine (measured, Linux 5.4); where
         zombies are not walked the program is not asked, which takes a minute less
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.machines.kernels import Kernel, KernelError, kernel_from
from lab.machines.qemu import Guest, GuestError, why_not
from lab.running.stage import Stage
from lab.scenarios.pinterest.guest_loads import READER
from lab.scenarios.pinterest.guest_peer import echo_peer
from lab.scenarios.pinterest.guest_verdict import Seen, conclude

PART = "real-starvation"
TOO_BUSY = "this machine is too busy to tell: datagrams of the guest are late on its idle core already"
ROOT = Path(__file__).parents[3]
ZOMBIES = 2_000
SECONDS = 4.0  # for each load
LOADS = ("idle", "reader", "user", "yielding", "long")
# A counter of a memory cgroup has a part for every core that the machine may ever have, and such a read adds
# them all up: as many as the nodes of the incident had.
POSSIBLE_CORES = "possible_cpus=96"
MEMORY_MEBIBYTES = 2048
TIMEOUT_SECONDS = 600.0
IN_ROOT = 'cd "$0" && exec "$@"'


def play_in_guest(stage: Stage) -> None:
    """Measure in a guest with the stage's kernel; what came of it is under `guest` in the results."""
    assert stage.kernel
    try:
        kernel = kernel_from(stage.kernel)
    except KernelError as error:
        stage.leave_out(PART, str(error))
        return
    if reason := why_not():
        stage.leave_out(PART, reason)
        return
    stage.tell(f"Linux {kernel.release} boots in a guest, to be measured for some minutes")
    stage.results["guest"] = results = measure(kernel)
    for line in (*results["lines"], results["conclusion"]):
        stage.tell(line)
    if not results["is_quiet"]:
        stage.leave_out(PART, TOO_BUSY)
    elif "is_walked" not in results:
        stage.leave_out(PART, results["conclusion"])


def measure(
    kernel: Kernel, zombies: int = ZOMBIES, seconds: float = SECONDS, loads: Sequence[str] = LOADS
) -> dict[str, Any]:
    """Boot it once, put every load on the core of its NIC, and say what that did."""
    words = [sys.executable, "-m", "lab.scenarios.pinterest.guest_probe", str(zombies), str(seconds), *loads]
    with tempfile.TemporaryDirectory(prefix="necroscope-lab-") as folder, echo_peer(Path(folder)) as network:
        guest = Guest(
            kernel,
            cgroups="v1",
            memory_mebibytes=MEMORY_MEBIBYTES,
            kernel_arguments=POSSIBLE_CORES,
            network=network,
        )
        done = guest.run(["sh", "-c", IN_ROOT, str(ROOT), *words], timeout_seconds=TIMEOUT_SECONDS)
    if done.returncode:
        raise GuestError(f"Linux {kernel.release}: the probe ended with {done.returncode}: {done.stderr}")
    answer = json.loads(done.stdout)
    seen = [Seen(**one) for one in answer["seen"]]
    program = answer["program"]
    return {
        "release": answer["release"],
        **conclude(seen),
        "program": program,
        "program_names_reader": READER in (program.get("verdict") or ""),
        "program_finds_starvation": program.get("finds_starvation", False),
    }
