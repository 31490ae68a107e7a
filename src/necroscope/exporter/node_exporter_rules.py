"""Prometheus rules on the metrics of node_exporter and cAdvisor, for nodes without a recorder.

They are made of rules/node_exporter_alerts.toml, and say with each alert what it needs and cannot see.
"""

from __future__ import annotations

from necroscope.exporter.alert_rules import Group, read_groups, rule_groups
from necroscope.exporter.yaml_text import yaml_text
from necroscope.model.rule_file import RuleFile

HEAD = """\
Made by `necroscope rules prometheus-node-exporter`: change exporter/rules/node_exporter_alerts.toml instead.
For nodes that have no recorder yet. Each alert says which flag of node_exporter it needs, and what it cannot
see; docs/alerts.md has the command line. Needs Prometheus 2.42 or later (keep_firing_for)."""


def node_exporter_groups() -> tuple[Group, ...]:
    """The rules on the metrics of others."""
    return read_groups("node_exporter_alerts.toml", "necroscope-node-exporter")


def files(docs: str) -> tuple[RuleFile, ...]:
    """The one file of `necroscope rules prometheus-node-exporter`."""
    document = {"groups": rule_groups(node_exporter_groups(), docs)}
    return (RuleFile("necroscope-node-exporter.rules.yaml", yaml_text(document, head=HEAD)),)
