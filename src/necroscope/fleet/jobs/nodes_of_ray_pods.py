"""On which Kubernetes node each pod of a Ray cluster runs: KubeRay's nodes have the addresses of pods.

Reads    GET /api/v1/namespaces/NAMESPACE/pods, those with the label ray.io/cluster
Needs    pods: list in that namespace; inside of a cluster the ServiceAccount of our own pod, elsewhere the
         address of the API server with a token file and a CA file
Costs    one request for 500 pods

Addresses are given to new pods when old ones are gone: a pod that began after a node of Ray is another's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from necroscope.errors import ClusterError, UsageError
from necroscope.fleet.jobs.ray_rows import RayNode
from necroscope.fleet.jobs.web_api import WebApi
from necroscope.sources.http_client import read_token
from necroscope.sources.in_cluster import ACCOUNT as SERVICE_ACCOUNT
from necroscope.sources.in_cluster import in_cluster_address

IN_CLUSTER = "in-cluster"
LABEL = "ray.io/cluster"
PODS_PER_ANSWER = 500
MOST_ANSWERS = 100
CLOCKS_DIFFER_MS = 60_000  # of two machines, and a pod's time is in whole seconds
HINT = "the token's account needs: pods list in this namespace"


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that has been placed."""

    name: str
    node: str
    addresses: tuple[str, ...]
    begin_ms: int | None


@dataclass(frozen=True, slots=True)
class Pods:
    """All pods, by their addresses."""

    by_address: Mapping[str, tuple[Pod, ...]]

    def node_of(self, node: RayNode) -> str:
        """The Kubernetes node on which a node of Ray runs; empty: no pod, or not surely one."""
        found = [pod for pod in self.by_address.get(node.address, ()) if _may_be(pod, node)]
        named = [pod for pod in found if pod.name == node.host_name]
        nodes = {pod.node for pod in named or found}
        return nodes.pop() if len(nodes) == 1 else ""


def _may_be(pod: Pod, node: RayNode) -> bool:
    if pod.begin_ms is None or node.begin_ms is None:
        return node.end_ms is None  # of one that is gone, the address may have gone to another
    return pod.begin_ms <= node.begin_ms + CLOCKS_DIFFER_MS


def kubernetes_api(address: str, token_file: Path | None, ca_file: Path | None) -> WebApi:
    """The API server at an address, or `in-cluster`: that of the pod that we are in."""
    if address == IN_CLUSTER:
        address = in_cluster_address()
        if not address:
            raise UsageError("this is no pod: there is no KUBERNETES_SERVICE_HOST", hint="--kubernetes URL")
        token_file = token_file or SERVICE_ACCOUNT / "token"
        ca_file = ca_file or SERVICE_ACCOUNT / "ca.crt"
    hint = f"--kubernetes-token FILE; {HINT}"
    return WebApi(address, partial(read_token, token_file) if token_file else str, hint, ca_file)


def own_namespace() -> str:
    """The namespace of the pod that we are in; elsewhere `default`."""
    try:
        return (SERVICE_ACCOUNT / "namespace").read_text().strip() or "default"
    except OSError:
        return "default"


def read_pods(api: WebApi, namespace: str) -> Pods:
    """The pods of Ray clusters in a namespace. ClusterError: they may not be listed."""
    by_address: dict[str, tuple[Pod, ...]] = {}
    for row in _all_rows(api, namespace):
        if pod := parse_pod(row):
            for address in pod.addresses:
                by_address[address] = (*by_address.get(address, ()), pod)
    return Pods(by_address)


def parse_pod(row: Any) -> Pod | None:
    """A pod of a list; None: it is not placed yet, or no pod."""
    parts = [row.get(name) if isinstance(row, dict) else None for name in ("metadata", "spec", "status")]
    metadata, spec, status = (part if isinstance(part, dict) else {} for part in parts)
    more = status.get("podIPs")
    rows = [status.get("podIP"), *(one.get("ip") for one in more or () if isinstance(one, dict))]
    addresses = tuple(dict.fromkeys(one for one in rows if isinstance(one, str) and one))
    node, name = spec.get("nodeName"), metadata.get("name")
    if not (isinstance(node, str) and node and addresses):
        return None
    return Pod(name if isinstance(name, str) else "", node, addresses, _ms(status.get("startTime")))


def _all_rows(api: WebApi, namespace: str) -> Iterator[Any]:
    query = {"labelSelector": LABEL, "limit": str(PODS_PER_ANSWER)}
    for _ in range(MOST_ANSWERS):
        answer = api.get(f"/api/v1/namespaces/{quote(namespace, safe='')}/pods?{urlencode(query)}")
        rows = answer.get("items") if isinstance(answer, dict) else None
        if not isinstance(rows, list):
            raise ClusterError(f"{api.address} does not answer with pods", hint="is this Kubernetes?")
        yield from rows
        metadata = answer.get("metadata")
        following = metadata.get("continue") if isinstance(metadata, dict) else None
        if not isinstance(following, str) or not following:
            return
        query["continue"] = following


def _ms(text: Any) -> int | None:
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000) if isinstance(text, str) else None
    except ValueError:
        return None
