"""The namespace, and what the recorder may do in the cluster: as little as RBAC can say."""

from __future__ import annotations

from typing import Any

from deploy.kubernetes.source.markers import BuiltIn
from deploy.kubernetes.source.metadata import metadata
from deploy.kubernetes.source.values import NAME, NAMESPACE

RBAC = "rbac.authorization.k8s.io"


def namespace() -> dict[str, Any]:
    """With the level of Pod Security that host paths need: every other forbids them."""
    head: dict[Any, Any] = metadata(cluster_wide=True)
    head["name"] = BuiltIn(NAMESPACE.template, NAMESPACE.default)
    levels = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {**head, "labels": {**levels, **head["labels"]}},
    }


def service_account() -> dict[str, Any]:
    """Its token is mounted by the pod itself, and only where it is needed."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(),
        "automountServiceAccountToken": False,
    }


def cluster_role() -> dict[str, Any]:
    """To read a node that it can name, patch its status, and write events. No list, no watch, no spec."""
    rules = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ]
    head = metadata(cluster_wide=True)
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": head, "rules": rules}


def cluster_role_binding() -> dict[str, Any]:
    """For the recorder's account, in all namespaces: events are in that of the pod which they are about."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata(cluster_wide=True),
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    }
