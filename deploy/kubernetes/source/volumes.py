"""What the pod sees of its node, and where it may write."""

from __future__ import annotations

from typing import Any

from deploy.kubernetes.source.levels import Level
from deploy.kubernetes.source.markers import When
from deploy.kubernetes.source.values import NAME, VALUES

STORE, TEMPORARY = "/var/lib/necroscope", "/tmp"
HEARTBEAT_FOLDER = "/run/necroscope"
HEARTBEAT = f"{HEARTBEAT_FOLDER}/heartbeat"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
TRACEFS = "/sys/kernel/tracing"
REPORT = VALUES["kubernetes.report"]


def mounts(level: Level) -> list[Any]:
    """Of the recorder."""
    tracefs = {"name": "tracefs", "mountPath": f"/host{TRACEFS}"}
    return [
        # Volumes that the node unmounts have to go here, too: else they stay busy for as long as we run.
        # With it there is no `recursiveReadOnly`: root could write to /proc and /sys below it, if it is root.
        {"name": "host", "mountPath": "/host", "readOnly": True, "mountPropagation": "HostToContainer"},
        *((tracefs,) if level.has_tracefs else ()),
        {"name": "store", "mountPath": STORE},
        {"name": "config", "mountPath": "/etc/necroscope", "readOnly": True},
        {"name": "temporary", "mountPath": TEMPORARY},
        {"name": "heartbeat", "mountPath": HEARTBEAT_FOLDER},
        When(REPORT, ({"name": "account", "mountPath": ACCOUNT, "readOnly": True},)),
    ]


def volumes(level: Level) -> list[Any]:
    """Of the pod."""
    tracefs = {"name": "tracefs", "hostPath": {"path": TRACEFS, "type": "Directory"}}
    return [
        {"name": "host", "hostPath": {"path": "/", "type": "Directory"}},
        *((tracefs,) if level.has_tracefs else ()),
        {"name": "store", "hostPath": {"path": VALUES["store.path"], "type": "DirectoryOrCreate"}},
        {"name": "config", "configMap": {"name": NAME}},
        {"name": "temporary", "emptyDir": {"sizeLimit": "128Mi"}},
        # In memory: a disk that hangs must not stop the heart.
        {"name": "heartbeat", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        When(REPORT, (_account(),)),
    ]


def _account() -> dict[str, Any]:
    """A token that the kubelet asks for: bound to this pod and its node, renewed before it ends."""
    certificate = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    name = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
        {"configMap": certificate},
        {"downwardAPI": {"items": [name]}},
    ]
    return {"name": "account", "projected": {"sources": sources}}
