"""A real Ray cluster, each node on a host of its own: two of the lab's, or more.

    with two_hosts(core) as network, starting_cluster(network) as cluster:
        ...other work, while the nodes start
        cluster.wait_until_ready()

A node has its own network, process ids and shared memory, as a pod has, and ends with the first of its
processes; nothing of it stays behind, and no other Ray on this machine is touched. Enter it from a thread
that outlives it: the kernel ends the nodes together with that thread. Only when Python itself is killed, a
folder /tmp/lab-ray-* stays behind.

Needs    root, Ray (`make lab` installs it), and what `network` needs
Costs    3.7 to 6.1 s until both nodes are ready; 410 MiB in 10 processes; 0.1 s to end (two cores, measured)
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lab.running.processes import mark_environment
from lab.training import network as networks

REPOSITORY = Path(__file__).parents[2]
READY_SECONDS = 90.0
GCS_PORT = 6379  # of the head
STARTED = "Ray runtime started."  # what `ray start` prints when the node has joined the cluster

# setpriv ends unshare with us, and unshare its child with itself.
NODE = (
    "setpriv",
    "--pdeathsig",
    "KILL",
    "unshare",
    "--mount",
    "--pid",
    "--mount-proc",
    "--fork",
    "--kill-child",
)
# Two workers that start at once would take the same names in one folder, and one of them would not come up.
OWN_PLACES = 'mount -n -t tmpfs lab /dev/shm && mount -n --bind "$0" "$1" && shift && exec "$@"'


class ClusterError(RuntimeError):
    """A node ended or was not ready in time; the message holds what it said."""


class Hosts(Protocol):
    """Hosts by name; one is `head`."""

    @property
    def names(self) -> Sequence[str]:
        """All of them, the head first."""

    def address(self, side: str, /) -> str:
        """The address of a host."""

    def run_prefix(self, side: str, /) -> tuple[str, ...]:
        """What to put before a command for it to run on a host."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes by the names of their hosts, each with a resource of that name."""

    network: Hosts
    folder: Path
    nodes: dict[str, subprocess.Popen[bytes]]

    def wait_until_ready(self, timeout_seconds: float = READY_SECONDS) -> None:
        """Until all nodes have joined."""
        deadline = time.monotonic() + timeout_seconds
        while not all(STARTED in self.said(side) for side in self.nodes):
            for side, node in self.nodes.items():
                if node.poll() is not None:
                    raise ClusterError(f"the {side} node ended with {node.returncode}\n{self.said(side)}")
            if time.monotonic() > deadline:
                said = "\n".join(self.said(side) for side in self.nodes)
                raise ClusterError(f"the cluster was not ready after {timeout_seconds:g} s\n{said}")
            time.sleep(0.05)

    def said(self, side: str) -> str:
        """What a node has printed."""
        return (self.folder / f"{side}.log").read_text(errors="replace")

    def pids(self, side: str) -> tuple[int, ...]:
        """The processes of a node, seen from here; the first began it."""
        found = [*_children(self.nodes[side].pid)]
        for pid in found:
            found += _children(pid)
        return tuple(found)

    def raylet_pid(self, side: str) -> int:
        """The process of a node that starts its tasks."""
        for pid in self.pids(side):
            with suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text() == "raylet\n":
                    return pid
        raise ClusterError(f"the {side} node has no raylet")

    def run_prefix(self, side: str) -> tuple[str, ...]:
        """What to put before a command for it to run on a node, beside Ray."""
        return ("nsenter", f"--target={self.pids(side)[0]}", "--net", "--pid", "--mount", "--")


def why_not() -> str | None:
    """Why no cluster can run here, or None."""
    if importlib.util.find_spec("ray") is None:
        return "Ray is missing: make lab installs it"
    if " " in sys.prefix:  # it names its files in LD_PRELOAD and in commands of a shell
        return "Ray cannot run from a path with a space"
    return networks.why_not()


@contextmanager
def starting_cluster(
    network: Hosts,
    settings: Mapping[str, str] | None = None,
    options: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Cluster]:
    """Begin to start all nodes, and end them in the end.

    `settings` are added to their environment, `options` of a name to its `ray start`.
    """
    with ExitStack() as undo:
        # In /tmp, because the path of a Unix socket may have 107 bytes and Ray's own part of it is long.
        folder = Path(tempfile.mkdtemp(prefix="lab-ray-", dir="/tmp"))
        undo.callback(shutil.rmtree, folder)
        nodes: dict[str, subprocess.Popen[bytes]] = {}
        for side in network.names:
            all_settings = {**environment(folder), **(settings or {})}
            nodes[side] = _start_node(network, side, folder, all_settings, (options or {}).get(side, ()))
            undo.callback(end_node, nodes[side])
        yield Cluster(network, folder, nodes)


def environment(folder: Path) -> dict[str, str]:
    """For all that is Ray: no token in the home folder, nothing sent anywhere."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TMPDIR": str(folder),  # Ray kills its workers, which then remove nothing
        "PYTHONPATH": str(REPOSITORY),
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        **mark_environment(),
    }


def _start_node(
    network: Hosts, side: str, folder: Path, settings: Mapping[str, str], options: Sequence[str]
) -> subprocess.Popen[bytes]:
    own, seen = folder / side, folder / "ray"
    own.mkdir()
    seen.mkdir(exist_ok=True)
    own_places: Sequence[str] = ("sh", "-c", OWN_PLACES, str(own), str(seen))
    addresses = network.address(side), network.address("head")
    python = (sys.executable, "-m", "lab.training.node", side, str(seen), *addresses, *options)
    with (folder / f"{side}.log").open("wb") as log:
        return subprocess.Popen(
            [*network.run_prefix(side), *NODE, *own_places, *python],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=settings,
            start_new_session=True,  # Ctrl-C is for us, who then end the nodes
        )


def end_node(node: subprocess.Popen[bytes]) -> None:
    """Kill the first process of a node; unshare waits for it, and it is gone only after all others are."""
    try:
        with suppress(ProcessLookupError):
            for pid in _children(node.pid):
                os.kill(pid, signal.SIGKILL)
                node.wait(timeout=10)
    finally:
        node.kill()
        node.wait()


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []
