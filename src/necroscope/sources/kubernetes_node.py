"""The labels of the Kubernetes node that we run on, by the pod's own service account.

NODE_NAME says which node it is (spec.nodeName in the pod's `env`), and the account must be allowed to get it,
as ClusterRole system:node-problem-detector allows. The token is read anew each time, since it changes hourly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from necroscope.errors import ClusterError
from necroscope.model.labels import Label, fit_labels
from necroscope.sources.cloud import Identity, text_of
from necroscope.sources.http_client import ACCEPT_JSON, UnansweredError, brief_client, read_token
from necroscope.sources.in_cluster import ACCOUNT, in_cluster_address, own_node

PREFIX = "kubernetes/"
# As spec.providerID begins, and what sources/cloud calls it.
PROVIDERS = {"aws": "ec2", "gce": "gcp", "azure": "azure"}
PROVIDER_ID = re.compile(r"(\w+)://\S*?([^/\s]+)")
# The newest name first; nodes that were made long ago have only the old one.
ZONE = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
REGION = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
TYPE = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")


@dataclass(frozen=True, slots=True)
class Node:
    """What the cluster says of a node."""

    identity: Identity
    labels: tuple[Label, ...]  # without those that are of this node alone


def ask_node() -> tuple[Node | None, str]:
    """This node, and why it is not known; without a reason: we run in no pod that knows its node."""
    name, address = own_node(), in_cluster_address()
    if not (name and address and (ACCOUNT / "token").exists()):
        return None, ""
    try:
        return parse_node(_ask(name, address)), ""
    except ClusterError as error:
        return None, f"the labels of node {name}: {error}"


def _ask(name: str, address: str) -> Any:
    with brief_client(address, partial(read_token, ACCOUNT / "token"), ACCOUNT / "ca.crt") as server:
        # resourceVersion=0: as the API server remembers it, so that thousands of nodes do not ask its store.
        path = f"/api/v1/nodes/{quote(name, safe='')}?resourceVersion=0"
        return server.ask("GET", path, ACCEPT_JSON).require_ok().json()


def parse_node(document: Any) -> Node:
    """A node from what the API server says of it. UnansweredError: it is none."""
    if text_of(document, "kind") != "Node":
        raise UnansweredError("no description of a node")
    metadata = document.get("metadata")
    given = metadata.get("labels") if isinstance(metadata, dict) else None
    labels = {n: v for n, v in given.items() if isinstance(v, str)} if isinstance(given, dict) else {}
    identity = _identity(document, labels)
    # What tells one host from another is no label: kubernetes.io/hostname, and its like.
    alone = {text_of(document, "metadata", "name"), identity.instance_id, identity.address} - {""}
    shared = {
        f"{PREFIX}{name}": value
        for name, value in labels.items()
        if value not in alone and not name.endswith("/hostname")
    }
    return Node(identity, fit_labels(shared))


def _identity(document: Any, labels: dict[str, str]) -> Identity:
    whole = PROVIDER_ID.fullmatch(text_of(document, "spec", "providerID"))
    provider, instance = whole.groups() if whole else ("", "")

    def first(names: tuple[str, ...]) -> str:
        return next((labels[name] for name in names if name in labels), "")

    return Identity(
        provider=PROVIDERS.get(provider, ""),
        instance_id=instance if provider == "aws" else "",  # the others put a name there
        instance_type=first(TYPE),
        region=first(REGION),
        zone=first(ZONE),
        address=_address(document),
    )


def _address(document: Any) -> str:
    status = document.get("status")
    addresses = status.get("addresses") if isinstance(status, dict) else None
    for row in addresses if isinstance(addresses, list) else ():
        if text_of(row, "type") == "InternalIP":
            return text_of(row, "address")
    return ""
