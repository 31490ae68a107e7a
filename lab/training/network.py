"""Two hosts of our own, joined by a network whose work is done by kernel threads on one core.

    with two_hosts(core=1) as network:
        subprocess.run([*network.run_prefix("worker"), "ip", "address"])
        network.round_trips(seconds=1.0)

What arrives at either end of a veth pair is taken in by a kernel thread of its own (threaded NAPI), bound to
the core and run only when nothing else wants that core (SCHED_IDLE). All of it is the kernel's own work; the
setting is the lab's. Up to Linux 6.4 the network work of a busy core waited for ksoftirqd, and that for the
process on the core; newer kernels let it interrupt, and this setting brings the waiting back. Any work on
the core holds the threads up, also that of a program in user space.

Needs    root, a kernel with threaded NAPI, and the Debian packages iproute2, ethtool and util-linux
Costs    0.1 s to make and 0.1 s to remove. A round trip takes 0.08 ms; while a process is in the kernel on
         that core all the time, 16 to 19 ms, at most 40 ms; on the other core, 0.03 ms (two cores, Linux
         6.18, otherwise idle, measured)
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

Side = str  # head or worker

ADDRESSES: dict[Side, str] = {"head": "198.51.100.1", "worker": "198.51.100.2"}
READY_SECONDS = 10.0
TOOLS = {"ip": "iproute2", "ethtool": "ethtool", "nsenter": "util-linux", "unshare": "util-linux"}

# A namespace without a name ends with its last process, and that one with us.
HOLD = ("setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity")

# sysfs shows the links of the namespace in which it was mounted. With TSO, what is sent within one machine
# goes past NAPI.
SET_UP = """set -e
ip link set lo up
ip address add "$2"/30 dev "$1"
ethtool -K "$1" gro on tso off
ip link set "$1" up
mount -n -t sysfs lab /sys
echo 1 >/sys/class/net/"$1"/threaded
"""

ECHO = """
import socket, sys
with socket.create_server((sys.argv[1], 0)) as server:
    print(server.getsockname()[1], flush=True)
    peer, _ = server.accept()
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while message := peer.recv(100):
        peer.sendall(message)
"""
ASK = """
import json, socket, sys, time
peer = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30)
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
count, longest, began = 0, 0.0, time.monotonic()
while (sent := time.monotonic()) < began + float(sys.argv[3]):
    peer.sendall(bytes(100))
    missing = 100
    while missing:
        missing -= len(peer.recv(missing))
    count, longest = count + 1, max(longest, time.monotonic() - sent)
print(json.dumps([count, (time.monotonic() - began) / count, longest]))
"""


class NetworkError(RuntimeError):
    """The network could not be made; the message says what the tool said."""


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """Of 100 bytes over TCP from one host to the other and back, one after another."""

    count: int
    mean_seconds: float
    max_seconds: float


@dataclass(frozen=True, slots=True)
class Network:
    """Two hosts; what runs in one sees only its end of the link."""

    core: int  # that does the work of the network
    links: dict[Side, str]
    holders: dict[Side, int]  # pids of processes that are in the namespaces
    napi_pids: tuple[int, ...]

    @property
    def names(self) -> tuple[Side, ...]:
        """The hosts, the head first."""
        return tuple(self.links)

    def address(self, side: Side) -> str:
        """The address of a host."""
        return ADDRESSES[side]

    def run_prefix(self, side: Side) -> tuple[str, ...]:
        """What to put before a command for it to run on a host."""
        return enter(self.holders[side])

    def run_delay_seconds(self) -> float:
        """How long the kernel's threads have been ready to run and kept waiting, since they were made."""
        return sum(_run_delay_ns(pid) for pid in self.napi_pids) / 1e9

    def round_trips(self, seconds: float = 1.0) -> RoundTrips:
        """How long the hosts wait for each other now."""
        answer = [*self.run_prefix("worker"), sys.executable, "-IS", "-c", ECHO, self.address("worker")]
        with subprocess.Popen(answer, stdout=subprocess.PIPE, text=True) as echo:
            try:
                assert echo.stdout is not None
                port = echo.stdout.readline().strip()
                ask = [*self.run_prefix("head"), sys.executable, "-IS", "-c", ASK]
                ask += [self.address("worker"), port, str(seconds)]
                said = subprocess.run(ask, capture_output=True, text=True, timeout=seconds + 60, check=True)
            finally:
                echo.kill()
        return RoundTrips(*json.loads(said.stdout))


def why_not() -> str | None:
    """Why there can be no such network here, or None."""
    if os.geteuid() != 0:
        return "not root"
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            return f"{tool} is missing: apt-get install {package}"
    if not Path("/sys/class/net/lo/threaded").exists():
        return "this kernel has no threaded NAPI"
    return None


@contextmanager
def two_hosts(core: int) -> Iterator[Network]:
    """Make the network, and remove it in the end."""
    name = f"lab-{uuid.uuid4().hex[:4]}"  # with what follows within 15 characters, also as napi/NAME
    links: dict[Side, str] = {"head": f"{name}h", "worker": f"{name}w"}
    with ExitStack() as undo:
        holders: dict[Side, int] = {side: undo.enter_context(namespace()) for side in links}
        run_command("ip", "link", "add", links["head"], "netns", str(holders["head"]), "type", "veth",
                    "peer", "name", links["worker"], "netns", str(holders["worker"]))  # fmt: skip
        # The kernel would remove it with the namespaces, some time later.
        remove = [*enter(holders["head"]), "ip", "link", "delete", links["head"]]
        undo.callback(subprocess.run, remove, check=False, capture_output=True)
        for side, link in links.items():
            set_up = ("unshare", "--mount", "sh", "-c", SET_UP, "sh", link, ADDRESSES[side])
            run_command(*enter(holders[side]), *set_up)
        napi_pids = _napi_pids(name)
        for pid in napi_pids:
            os.sched_setaffinity(pid, [core])
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        yield Network(core, links, holders, napi_pids)


@contextmanager
def namespace() -> Iterator[int]:
    """A network namespace, by the pid of a process that does nothing in it."""
    # In a session of its own: after a Ctrl-C it is still needed, to remove the link.
    holder = subprocess.Popen(HOLD, start_new_session=True)
    try:
        deadline = time.monotonic() + READY_SECONDS
        while Path(f"/proc/{holder.pid}/comm").read_text() != "sleep\n":
            if holder.poll() is not None or time.monotonic() > deadline:
                raise NetworkError(f"no network namespace: {' '.join(HOLD)} ended with {holder.returncode}")
            time.sleep(0.002)
        yield holder.pid
    finally:
        holder.kill()
        holder.wait()


def enter(holder: int) -> tuple[str, ...]:
    """What to put before a command for it to run in a namespace."""
    return ("nsenter", f"--net=/proc/{holder}/ns/net", "--")


def run_command(*command: str) -> None:
    """Run a tool; NetworkError says what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NetworkError(f"{' '.join(command)}: {done.stderr.strip()}")


def _napi_pids(name: str) -> tuple[int, ...]:
    """The kernel's threads for links of that name; one for each direction."""
    pids = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            if comm.read_text().startswith(f"napi/{name}"):
                pids.append(int(comm.parent.name))
    if len(pids) < 2:
        raise NetworkError("the kernel made no threads for the links: threaded NAPI is not used")
    return tuple(sorted(pids))


def _run_delay_ns(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])
