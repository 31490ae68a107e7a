"""The rules for the Prometheus Operator: a PrometheusRule, and a PodMonitor that finds the recorders.

Both have the name and namespace of the DaemonSet. Labels that a Prometheus selects them by (such as
`release`) are the operator's to add.
"""

from __future__ import annotations

from typing import Any

from necroscope.exporter.alert_rules import Document, own_groups, rule_groups
from necroscope.exporter.yaml_text import yaml_text
from necroscope.model.rule_file import RuleFile

HEAD = """\
Made by `necroscope rules prometheus-operator`: change exporter/rules/alerts.toml instead.
Alerts and what to do about each: docs/alerts.md. Needs Prometheus 2.42 or later, and an operator whose
PrometheusRule has keep_firing_for."""
NAME = "necroscope"
LABELS = {"app.kubernetes.io/name": NAME}
SELECTOR = {**LABELS, "app.kubernetes.io/component": "recorder"}  # of pods; on reserved nodes it is another
PORT = "metrics"
API_VERSION = "monitoring.coreos.com/v1"


def files(docs: str) -> tuple[RuleFile, ...]:
    """The one file of `necroscope rules prometheus-operator`."""
    rule = _object("PrometheusRule", {"groups": rule_groups(own_groups(), docs)})
    monitor = _object("PodMonitor", pod_monitor_spec())
    return (RuleFile("necroscope-prometheusrule.yaml", yaml_text(rule, monitor, head=HEAD)),)


def pod_monitor_spec(interval: object = "15s") -> dict[str, Any]:
    """All recorders but those of reserved nodes, where somebody provokes what would ring.

    `jobLabel` gives the job the name that alerts ask for. A target is called by its node: with the name of a
    pod in it, an upgrade would make it another one, and alerts that look back for hours would begin anew.
    """
    node = ["__meta_kubernetes_pod_node_name"]
    endpoint = {
        "port": PORT,
        "interval": interval,
        "relabelings": [
            {"sourceLabels": node, "targetLabel": "node"},
            {"sourceLabels": node, "targetLabel": "instance"},
            {"action": "labeldrop", "regex": "pod"},
        ],
    }
    return {
        "jobLabel": "app.kubernetes.io/name",
        "selector": {"matchLabels": dict(SELECTOR)},
        "podMetricsEndpoints": [endpoint],
    }


def _object(kind: str, spec: Document) -> Document:
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": NAME, "namespace": NAME, "labels": dict(LABELS)},
        "spec": spec,
    }
