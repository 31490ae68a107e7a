"""Alert rules and the dashboard: the files in rules/, with the thresholds filled in.

    <zombie-memory-cgroups.warning>   the number that `necroscope list thresholds` prints; in JSON as a number
                                      if it is all of a string, also as "60 * <wall.leak_per_minute>"
    <node>                            the node's name if the target has it as a label, else its address
    <docs>                            where runbook links lead
    <rules>                           the alert rules, in the object for the Prometheus Operator

The numbers are the thresholds as shipped: what a node's own configuration changes is not known here.
"""

from __future__ import annotations

import re
from importlib.resources import files
from textwrap import indent

from necroscope.model.rule_file import RuleFile
from necroscope.signals.thresholds import default_thresholds

NODE = "{{ or $labels.node $labels.instance }}"  # Go's template: the first that is not empty
NUMBER = re.compile(r'"(?:(\d+) \* )?<([a-z-]+\.[a-z_]+)>"')
PLACEHOLDER = re.compile(r"<(node|docs|[a-z-]+\.[a-z_]+)>")


def prometheus(docs: str) -> tuple[RuleFile, ...]:
    """Return the alerts on the recorder's own metrics."""
    return (_filled("necroscope.rules.yaml", docs),)


def prometheus_node_exporter(docs: str) -> tuple[RuleFile, ...]:
    """Return the alerts on the metrics of node_exporter and cAdvisor."""
    return (_filled("necroscope-node-exporter.rules.yaml", docs),)


def prometheus_operator(docs: str) -> tuple[RuleFile, ...]:
    """Return the alerts on the recorder's own metrics as a PrometheusRule, and a PodMonitor."""
    (rules,) = prometheus(docs)
    groups = indent(rules.text[rules.text.index("groups:") :], "  ")
    made = _filled("necroscope-prometheusrule.yaml", docs)
    return (RuleFile(made.name, made.text.replace("  <rules>\n", groups)),)


def grafana(docs: str) -> tuple[RuleFile, ...]:
    """Return the dashboard, for Grafana 10 and later."""
    return (_filled("necroscope-dashboard.json", docs),)


def _filled(name: str, docs: str) -> RuleFile:
    thresholds = {name: threshold.value for name, threshold in default_thresholds().items()}
    values = {name: f"{value:g}" for name, value in thresholds.items()} | {"node": NODE, "docs": docs}
    text = files("necroscope.exporter").joinpath("rules", name).read_text()
    text = NUMBER.sub(lambda found: f"{int(found[1] or 1) * thresholds[found[2]]:g}", text)
    return RuleFile(name, PLACEHOLDER.sub(lambda found: values[found[1]], text))
