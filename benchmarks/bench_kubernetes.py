"""What the node conditions of a fleet cost a real API server and its etcd, beside what its kubelets cost it.

    python benchmarks/bench_kubernetes.py [--nodes 5000] [--seconds 60]

A kube-apiserver with our RBAC and admission policy, and Node objects as large as real ones (50 images). Each
report is what the recorder's child does: a new TLS connection, GET of its own node, PATCH of its status, with
a token that is bound to a pod of that node. First at the pace of the fleet, one report in five minutes from
each node; then as fast as the server takes them, as if all conditions changed at once. The peer is what every
kubelet does: its lease every 10 s, over a connection that it keeps.

CPU time is that of the server's processes (/proc/PID/stat); the load comes from the same two cores.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import yaml

from benchmarks.timing import report_amount
from lab.machines.kubernetes import ADMIN, Cluster, api_server, why_not
from necroscope.errors import NecroscopeError
from necroscope.kubernetes.access import Access
from necroscope.kubernetes.api_server import STRATEGIC, ApiServer, Reply
from necroscope.kubernetes.condition import Condition, Status
from necroscope.kubernetes.conditions import condition_rules
from necroscope.kubernetes.node_status import (
    conditions_patch,
    node_path,
    standing_conditions,
    status_path,
)

EVERY_SECONDS = 300.0
LEASE_SECONDS = 10.0
THREADS = 8
TICKS = os.sysconf("SC_CLK_TCK")
NAMESPACE = ACCOUNT = "necroscope"
LEASES = "kube-node-lease"
IMAGES = 50
ACCESS = Path(__file__).parents[1] / "deploy/kubernetes/base"
ACCESS_KINDS = (
    "Namespace",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)


@dataclass(slots=True)
class Load:
    """Requests that were made, and what they cost the servers."""

    seconds: float = 0.0
    requests: int = 0
    latencies: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    cpu_seconds: dict[str, float] = field(default_factory=dict)

    @property
    def cpu_ms(self) -> float:
        """CPU time of both servers for one round, in milliseconds."""
        return sum(self.cpu_seconds.values()) * 1000 / max(self.requests, 1)


class Node:
    """One node's recorder and kubelet, as the API server sees them."""

    def __init__(self, cluster: Cluster, name: str, token_file: Path) -> None:
        self.name = name
        self._count = 0
        self._lease: dict[str, Any] | None = None
        self._recorder = Access(cluster.address, token_file, cluster.ca_file)
        self._kubelet = ApiServer(Access(cluster.address, cluster.folder / "admin-token", cluster.ca_file))

    def report(self) -> None:
        """What the recorder's child does."""
        with ApiServer(self._recorder) as server:
            node = _done(server.ask("GET", node_path(self.name)))
            patch = conditions_patch(self._conditions(), standing_conditions(node), time.time_ns())
            _done(server.ask("PATCH", status_path(self.name), patch, STRATEGIC))

    def renew_lease(self) -> None:
        """What the kubelet does: it changes the lease that it got back the last time."""
        now = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime())}.000000Z"
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": now}
        path = f"/apis/coordination.k8s.io/v1/namespaces/{LEASES}/leases"
        if self._lease is None:
            metadata = {"name": self.name, "namespace": LEASES}
            new = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": metadata,
                "spec": spec,
            }
            self._lease = _done(self._kubelet.ask("POST", path, new))
        else:
            self._lease = _done(
                self._kubelet.ask("PUT", f"{path}/{self.name}", {**self._lease, "spec": spec})
            )

    def _conditions(self) -> list[Condition]:
        """All of them change with every report: no patch is for nothing."""
        self._count += 1
        message = "68,440 memory cgroups are removed and still held: necroscope zombies"
        status: Status = "True" if self._count % 2 else "False"
        return [Condition(rule.type, status, "Examined", message) for rule in condition_rules()]


def _done(reply: Reply) -> Any:
    if not reply.is_ok:
        raise RuntimeError(f"{reply.status}: {reply.said}")
    return reply.document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    if reason := why_not():
        raise SystemExit(f"bench_kubernetes: {reason}")
    with tempfile.TemporaryDirectory() as folder, api_server(Path(folder)) as cluster:
        nodes = make_nodes(cluster, arguments.nodes)
        print(
            f"{len(nodes)} nodes; kube-apiserver {_resident_mb(cluster, 'kube-apiserver'):.0f} MB of memory"
        )
        idle = measure(cluster, lambda load: time.sleep(10), 0.0)
        idle_share = sum(idle.cpu_seconds.values()) / idle.seconds
        print(f"idle: {idle_share:.1%} of a core")
        rate = len(nodes) / EVERY_SECONDS
        steady = measure(cluster, lambda load: at_pace(load, nodes, rate, arguments.seconds), idle_share)
        tell(f"reports at {rate:.1f}/s, one in 5 min from each node", steady)
        burst = measure(cluster, lambda load: at_once(load, [node.report for node in nodes]), idle_share)
        tell("all nodes at once", burst)
        some = nodes[:100]
        at_once(Load(), [node.renew_lease for node in some])  # connections and leases are made
        renewals = [node.renew_lease for node in some] * 40
        leases = measure(cluster, lambda load: at_once(load, renewals), idle_share)
        tell("leases, as kubelets renew them", leases)
        ours, kubelets = burst.cpu_ms / EVERY_SECONDS, leases.cpu_ms / LEASE_SECONDS
        report_amount(
            "CPU of both servers for a node's reports", ours, "ms/s", "its kubelet's lease", kubelets
        )
        report_amount("all nodes report", burst.seconds, "s", "the time between two reports", EVERY_SECONDS)


def make_nodes(cluster: Cluster, count: int) -> list[Node]:
    """Nodes with a pod each, whose tokens are bound to it."""
    cluster.apply(access_objects())
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LEASES}}])
    (cluster.folder / "admin-token").write_text(ADMIN)
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda number: _make_node(cluster, f"node-{number}"), range(count)))


def access_objects() -> list[dict[str, Any]]:
    """Who may do what, from the manifests."""
    files = sorted(ACCESS.glob("*.yaml"))
    documents = [one for path in files for one in yaml.safe_load_all(path.read_text()) if one]
    wanted = [one for one in documents if one.get("kind") in ACCESS_KINDS]
    return sorted(wanted, key=lambda one: ACCESS_KINDS.index(one["kind"]))


def _make_node(cluster: Cluster, name: str) -> Node:
    cluster.add_node(name)
    images = [
        {"names": [f"registry.example.com/team/image-{n}@sha256:{n:064x}"], "sizeBytes": 10**9}
        for n in range(IMAGES)
    ]
    cluster.ask("PATCH", status_path(name), {"status": {"images": images}}, content_type=STRATEGIC)
    pod = cluster.add_pod(NAMESPACE, f"necroscope-{name}", name, ACCOUNT)
    token_file = cluster.folder / f"{name}-token"
    token_file.write_text(cluster.account_token(NAMESPACE, ACCOUNT, pod))
    return Node(cluster, name, token_file)


def at_pace(load: Load, nodes: Sequence[Node], rate: float, seconds: float) -> None:
    """Reports that begin evenly, as jitter spreads them."""
    begin = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        for number in range(int(rate * seconds)):
            time.sleep(max(begin + number / rate - time.monotonic(), 0))
            pool.submit(_timed, load, nodes[number * 7919 % len(nodes)].report)


def at_once(load: Load, deeds: Sequence[Callable[[], None]]) -> None:
    """All of them, as fast as they are taken."""
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda deed: _timed(load, deed), deeds))


def _timed(load: Load, deed: Callable[[], None]) -> None:
    begin = time.monotonic()
    try:
        deed()
        load.latencies.append(time.monotonic() - begin)
    except (OSError, RuntimeError, NecroscopeError) as error:
        load.refused.append(str(error))


def measure(cluster: Cluster, make: Callable[[Load], None], idle_share: float) -> Load:
    """What a load took, and what it cost beyond an idle server."""
    load = Load()
    before, begin = _cpu(cluster), time.monotonic()
    make(load)
    load.seconds = time.monotonic() - begin
    load.requests = len(load.latencies)
    after = _cpu(cluster)
    load.cpu_seconds = {name: after[name] - before[name] for name in after}
    if load.requests:
        load.cpu_seconds["kube-apiserver"] -= min(
            idle_share * load.seconds, load.cpu_seconds["kube-apiserver"]
        )
    return load


def tell(what: str, load: Load) -> None:
    """One line, and the first refusal if there was any."""
    p99 = quantiles(load.latencies, n=100)[-1] if len(load.latencies) > 1 else 0.0
    shares = ", ".join(f"{name} {cpu / load.seconds:.1%}" for name, cpu in load.cpu_seconds.items())
    print(
        f"{what}: {load.requests} in {load.seconds:.1f} s, {load.requests / load.seconds:.0f}/s;"
        f" median {median(load.latencies) * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms;"
        f" of a core: {shares}; {load.cpu_ms:.2f} ms of CPU each; {len(load.refused)} refused"
    )
    if load.refused:
        print(f"  {load.refused[0]}")


def _cpu(cluster: Cluster) -> dict[str, float]:
    return {name: _ticks(pid) / TICKS for name, pid in cluster.pids.items()}


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _resident_mb(cluster: Cluster, name: str) -> float:
    pages = int(Path(f"/proc/{cluster.pids[name]}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
