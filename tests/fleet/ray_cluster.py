"""A real Ray cluster of several nodes on this machine, as a platform team has one: token, dashboard, jobs.

    with ray_cluster() as cluster:
        requests to cluster.dashboard with `Authorization: Bearer {cluster.token}`
        cluster.run("head", sys.executable, "driver.py")  # ray.init(address="auto")
        cluster.kill("worker")

Each node is a host with its own network, process ids and shared memory, and one CPU; this machine reaches
all of them. A driver runs on a node (`run`, `start`), or here by `cluster.client` (ray://). Nodes end with
-9, and nothing of them stays behind.

Needs    root, Ray with its dashboard (`make lab` installs it), iproute2, util-linux
Costs    18 s until three nodes are ready, 1.1 GiB in 26 processes, 0.1 s to kill one, 1.2 s to end (two cores
         that others used too, measured)
"""

from __future__ import annotations

import importlib.util
import secrets
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from lab.training import switch
from lab.training.cluster import GCS_PORT, Cluster, ClusterError, end_node, environment, starting_cluster
from lab.training.switch import SwitchedHosts, switched_hosts

NAMES = ("head", "worker", "third")
CLIENT_PORT = 10001
DASHBOARD_PORT = 8265
DASHBOARD_SECONDS = 60.0
OBJECT_STORE_BYTES = 200_000_000


def why_no_cluster() -> str | None:
    """Why none can run here, or None."""
    for package in ("ray", "aiohttp"):  # the second comes with ray[default]
        if importlib.util.find_spec(package) is None:
            return f"{package} is missing: make lab installs Ray and what it needs"
    if " " in sys.prefix:
        return "Ray cannot run from a folder with a space in its name"
    return switch.why_not()


@dataclass(frozen=True, slots=True)
class RayCluster:
    """Nodes by name, each with a resource of that name; the first is the head."""

    nodes: Cluster
    hosts: SwitchedHosts
    token: str

    @property
    def address(self) -> str:
        """For drivers on a node; `auto` means the same there."""
        return f"{self.hosts.address('head')}:{GCS_PORT}"

    @property
    def client(self) -> str:
        """For drivers here, on this machine."""
        return f"ray://{self.hosts.address('head')}:{CLIENT_PORT}"

    @property
    def dashboard(self) -> str:
        """The address of the Jobs and State APIs."""
        return f"http://{self.hosts.address('head')}:{DASHBOARD_PORT}"

    @property
    def names(self) -> tuple[str, ...]:
        """All nodes, also those that were killed."""
        return self.hosts.names

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a driver that has the token."""
        return {**environment(self.nodes.folder), **auth_settings(self.token)}

    def start(
        self, name: str, *command: str, settings: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a command on a node, with the token, or with other settings."""
        return subprocess.Popen(
            [*self.nodes.run_prefix(name), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.settings if settings is None else settings,
        )

    def run(
        self,
        name: str,
        *command: str,
        settings: Mapping[str, str] | None = None,
        timeout_seconds: float = 120.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a node to its end."""
        with self.start(name, *command, settings=settings) as process:
            try:
                out, err = process.communicate(timeout=timeout_seconds)
            except subprocess.TimeoutExpired:
                process.kill()  # what it has started on the node ends with the node
                raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def kill(self, name: str) -> None:
        """Kill a node with all that runs on it, with -9 and at once."""
        end_node(self.nodes.nodes[name])

    def left_behind(self) -> list[str]:
        """What is still there of it: nothing, once it has ended."""
        folder = self.nodes.folder
        found = [str(folder)] if folder.exists() else []
        found += map(str, Path("/sys/class/net").glob(f"{self.hosts.name}*"))
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if str(folder).encode() in path.read_bytes():
                    found.append(f"process {path.parent.name}")
        return found


def auth_settings(token: str) -> dict[str, str]:
    """What makes Ray ask for a token, and have it."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}


@contextmanager
def ray_cluster(
    names: tuple[str, ...] = NAMES,
    *,
    dashboard: bool = True,
    object_store_bytes: int = OBJECT_STORE_BYTES,
    settings: Mapping[str, str] | None = None,
) -> Iterator[RayCluster]:
    """A cluster that is ready; it ends in the end. `settings` are added to the environment of its nodes."""
    token = secrets.token_hex(32)
    options = {name: [f"--object-store-memory={object_store_bytes}"] for name in names}
    options["head"].append(f"--ray-client-server-port={CLIENT_PORT}")
    if dashboard:
        listen = ("--dashboard-host=0.0.0.0", f"--dashboard-port={DASHBOARD_PORT}")
        options["head"] += ["--include-dashboard=true", *listen]
    all_settings = {**auth_settings(token), **(settings or {})}
    with switched_hosts(names) as hosts, starting_cluster(hosts, all_settings, options) as nodes:
        nodes.wait_until_ready()
        cluster = RayCluster(nodes, hosts, token)
        if dashboard:
            _wait_for_dashboard(cluster)
        yield cluster


def _wait_for_dashboard(cluster: RayCluster) -> None:
    """Until the head's own job agent can be asked: the dashboard answers some seconds before it."""
    deadline = monotonic() + DASHBOARD_SECONDS
    asked = urllib.request.Request(
        f"{cluster.dashboard}/api/jobs/", headers={"Authorization": f"Bearer {cluster.token}"}
    )
    while True:
        try:
            with urllib.request.urlopen(asked, timeout=10) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError) as error:
            if monotonic() > deadline:
                raise ClusterError(f"the dashboard is not ready: {error}") from error
        sleep(0.1)
