"""Where the API server is, what it is asked with, and which node is ours: as told, or as a pod is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from necroscope.errors import UsageError
from necroscope.sources.in_cluster import ACCOUNT, in_cluster_address, own_node
from necroscope.store.config import KubernetesSettings


@dataclass(frozen=True, slots=True)
class Access:
    """What it takes to ask."""

    address: str
    token_file: Path | None = None
    ca_file: Path | None = None


def access_of(settings: KubernetesSettings) -> Access:
    """The API server of the settings, else that of the pod that we are in. UsageError: neither is known."""
    token, ca = (Path(name) if name else None for name in (settings.token_file, settings.ca_file))
    if settings.address:
        return Access(settings.address, token, ca)
    address = in_cluster_address()
    if not address:
        hint = "--address URL, or [kubernetes] address in the configuration"
        raise UsageError("this is no pod: there is no KUBERNETES_SERVICE_HOST", hint=hint)
    return Access(address, token or ACCOUNT / "token", ca or ACCOUNT / "ca.crt")


def node_of(settings: KubernetesSettings) -> str:
    """The name of our node in the cluster. UsageError: it is not known; host names are often not it."""
    if name := settings.node or own_node():
        return name
    hint = "--node NAME, or NODE_NAME from spec.nodeName in the pod's env"
    raise UsageError("which node is this?", hint=hint)
