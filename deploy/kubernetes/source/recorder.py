"""The DaemonSet, its configuration, who may reach it, and who scrapes it."""

from __future__ import annotations

from typing import Any

from deploy.kubernetes.source.levels import Level
from deploy.kubernetes.source.markers import Block, Spread
from deploy.kubernetes.source.metadata import labels, metadata
from deploy.kubernetes.source.pod import pod_template
from deploy.kubernetes.source.values import LABELS, SELECTOR, VALUES


def config_map() -> dict[str, Any]:
    """The recorder's configuration."""
    data = {"config.toml": Block(VALUES["config"])}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(), "data": data}


def daemon_set(level: Level) -> dict[str, Any]:
    """One recorder on each node."""
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(),
        "spec": {
            "selector": {"matchLabels": dict(SELECTOR)},
            "updateStrategy": VALUES["updateStrategy"],
            "template": pod_template(level),
        },
    }


def network_policy() -> dict[str, Any]:
    """Only Prometheus reaches the metrics of a recorder, also of one on reserved nodes."""
    port = {"protocol": "TCP", "port": VALUES["listen.port"]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(),
        "spec": {
            "podSelector": {"matchLabels": dict(LABELS)},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": VALUES["networkPolicy.from"], "ports": [port]}],
        },
    }


def pod_monitor() -> dict[str, Any]:
    """For the Prometheus operator. It is that of `necroscope rules prometheus-operator`, which says why."""
    node = ["__meta_kubernetes_pod_node_name"]
    endpoint = {
        "port": "metrics",
        "interval": VALUES["podMonitor.interval"],
        "relabelings": [
            {"sourceLabels": node, "targetLabel": "node"},
            {"sourceLabels": node, "targetLabel": "instance"},
            {"action": "labeldrop", "regex": "pod"},
        ],
    }
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {**metadata(), "labels": {**labels(), Spread(VALUES["podMonitor.labels"]): None}},
        "spec": {
            "jobLabel": "app.kubernetes.io/name",
            "selector": {"matchLabels": dict(SELECTOR)},
            "podMetricsEndpoints": [endpoint],
        },
    }
