"""Alert rules and the dashboard: the files in rules/, with the thresholds filled in.

    <zombie-memory-cgroups.warning>   the number that `necroscope list thresholds` prints; in JSON as a number
                                      if it is all of a string, also as "0.5 * <wall.leak_per_minute>"
    <node>                            the node's name if the target has it as a label, else its address
    <docs>                            where runbook links lead
    <rules>                           the alert rules, in the object for the Prometheus Operator

Any other word in angle brackets is an error, except the name of a regex group: (?<name>...) or (?P<name>...).

The numbers are the thresholds as shipped: what a node's own configuration changes is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from textwrap import indent

from necroscope.model.rule_file import RuleFile
from necroscope.signals.thresholds import default_thresholds

NODE = "{{ or $labels.node $labels.instance }}"  # Go's template: the first that is not empty
NUMBER = re.compile(r'"(?:(\d+(?:\.\d+)?) *\* *)?<([\w-]+\.[\w-]+)>"')
PLACEHOLDER = re.compile(r"(?<!\(\?)(?<!\(\?P)<([\w.-]+)>")


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
    return (_filled("necroscope-prometheusrule.yaml", docs, rules=groups.strip()),)


def grafana(docs: str) -> tuple[RuleFile, ...]:
    """Return the dashboard, for Grafana 10 and later."""
    return (_filled("necroscope-dashboard.json", docs),)


def _filled(name: str, docs: str, **more: str) -> RuleFile:
    text = files("necroscope.exporter").joinpath("rules", name).read_text()
    try:
        return RuleFile(name, fill(text, {"node": NODE, "docs": docs, **more}))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def fill(text: str, words: Mapping[str, str]) -> str:
    """Return a text with the words and the thresholds filled in.

    ValueError: it has a placeholder that is not known.
    """
    thresholds = {name: threshold.value for name, threshold in default_thresholds().items()}
    values = {**{name: f"{value:g}" for name, value in thresholds.items()}, **words}
    found = {match[1] for match in PLACEHOLDER.finditer(text)}
    if unknown := sorted(found - values.keys()):
        raise ValueError(f"unknown placeholders: {', '.join(unknown)}")
    text = NUMBER.sub(lambda match: f"{float(match[1] or 1) * thresholds[match[2]]:g}", text)
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)
