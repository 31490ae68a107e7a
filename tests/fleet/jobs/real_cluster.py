"""A real Ray cluster of two hosts, of which one can be cut off, with a dashboard, a token and the Jobs API.

The hosts and the training job are those of lab/training. There a busy core starves the network; how much of
it that leaves depends on what else this machine does, and so the link is taken down here. What is asked is
asked on the head, since only the two hosts have a way to its dashboard.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.training.cluster import Cluster, environment, starting_cluster
from lab.training.cluster import why_not as why_no_nodes
from lab.training.network import Network, two_hosts

PROGRAM = Path(sys.executable).with_name("necroscope")
DASHBOARD_PORT = 8265
READY_SECONDS = 90.0
END_SECONDS = 90.0
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
ASK = """
import json, sys, urllib.request
body = sys.argv[3].encode() if len(sys.argv) > 3 else None
headers = {"Authorization": f"Bearer {sys.argv[2]}", "Content-Type": "application/json"}
print(urllib.request.urlopen(urllib.request.Request(sys.argv[1], body, headers), timeout=30).read().decode())
"""


@dataclass(frozen=True, slots=True)
class JobsCluster:
    """One that takes jobs."""

    nodes: Cluster
    network: Network
    token: str

    @property
    def dashboard(self) -> str:
        """Its address, for who is on the head."""
        return f"http://{self.network.address('head')}:{DASHBOARD_PORT}"

    def submit(self, name: str, *command: str) -> None:
        """Submit a job by the Jobs API."""
        self._ask("/api/jobs/", {"submission_id": name, "entrypoint": " ".join(command)})

    def job(self, name: str) -> Any:
        """What Ray says of a job."""
        return self._ask(f"/api/jobs/{name}")

    def log(self, name: str) -> str:
        """What a job has said."""
        return str(self._ask(f"/api/jobs/{name}/logs")["logs"])

    def wait_for(self, name: str) -> str:
        """How a job ended."""
        deadline = time.monotonic() + END_SECONDS
        while (status := self.job(name)["status"]) not in ENDED:
            assert time.monotonic() < deadline, f"{name}: {status}\n{self.log(name)[-2000:]}"
            time.sleep(0.2)
        return str(status)

    def necroscope(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the program on the head, without any token in its environment."""
        settings = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        command = [*self.network.run_prefix("head"), str(PROGRAM), *words]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=settings | {"HOME": str(self.nodes.folder)},
        )

    def necroscope_as_driver(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the program as a driver of the cluster on the head, with the token in its environment."""
        settings = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token}
        command = [*self.nodes.run_prefix("head"), str(PROGRAM), *words]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=environment(self.nodes.folder) | settings,
        )

    @contextmanager
    def worker_cut_off(self) -> Iterator[None]:
        """No packet comes or goes at the worker: its device is down, and comes up again in the end."""
        link = (*self.network.run_prefix("worker"), "ip", "link", "set", self.network.links["worker"])
        subprocess.run([*link, "down"], check=True)
        try:
            yield
        finally:
            subprocess.run([*link, "up"], check=True)

    def _ask(self, path: str, body: Any = None) -> Any:
        words = [f"{self.dashboard}{path}", self.token, *([json.dumps(body)] if body else [])]
        command = [*self.network.run_prefix("head"), sys.executable, "-IS", "-c", ASK, *words]
        return json.loads(
            subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        )


def why_not() -> str | None:
    """Why there can be none here, or None."""
    if reason := why_no_nodes():
        return reason
    return None if importlib.util.find_spec("aiohttp") else "Ray has no dashboard here: make lab installs it"


@contextmanager
def jobs_cluster(core: int) -> Iterator[JobsCluster]:
    """A cluster that is ready; all of it ends in the end."""
    token = secrets.token_hex(32)
    dashboard = ("--include-dashboard=true", "--dashboard-host=0.0.0.0", f"--dashboard-port={DASHBOARD_PORT}")
    settings = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    with two_hosts(core) as network, starting_cluster(network, settings, {"head": dashboard}) as nodes:
        for pid in network.napi_pids:  # this network is not to be starved by whoever is busy here
            os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
        nodes.wait_until_ready()
        cluster = JobsCluster(nodes, network, token)
        _wait_for_dashboard(cluster)
        yield cluster


def _wait_for_dashboard(cluster: JobsCluster) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            cluster.submit("first", "true")
            return
        except subprocess.CalledProcessError as error:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the dashboard takes no jobs: {error.stderr}") from error
            time.sleep(0.5)
