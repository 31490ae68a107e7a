"""The alert rules as Prometheus reads them, for tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml

from necroscope.cli.rules import DOCS
from necroscope.exporter import rule_files
from necroscope.model.rule_file import RuleFile

RECORDED = re.compile(r"\b[a-z_]+:\w+:\w+\b")  # the name of a recording rule


class AlertRules:
    """One file of rules, with the thresholds filled in."""

    def __init__(self, make: Callable[[str], tuple[RuleFile, ...]]) -> None:
        (self.file,) = make(DOCS)
        self.document: dict[str, Any] = yaml.safe_load(self.file.text)
        rules = [rule for group in self.document["groups"] for rule in group["rules"]]
        self.alerts = [rule for rule in rules if "alert" in rule]
        self.recordings = [rule for rule in rules if "record" in rule]

    @property
    def texts(self) -> list[str]:
        """All that Prometheus evaluates: expressions, and the queries inside of texts."""
        texts = [(alert["expr"], alert["annotations"]["description"]) for alert in self.alerts]
        return [rule["expr"] for rule in self.recordings] + [text for pair in texts for text in pair]


OWN = AlertRules(rule_files.prometheus)
OTHERS = AlertRules(rule_files.prometheus_node_exporter)
