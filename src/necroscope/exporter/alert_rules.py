"""Prometheus rules on the recorder's own metrics, made of rules/alerts.toml.

    groups:
    - name: necroscope-zombies
      rules:
      - record: ...
      - alert: ...

The numbers in them are the detectors' thresholds as shipped: what a node's own configuration sets otherwise
is not known where the rules are made.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files as package_files

from necroscope.exporter.yaml_text import yaml_text
from necroscope.model.rule_file import RuleFile
from necroscope.signals.thresholds import default_thresholds

HEAD = """\
Made by `necroscope rules prometheus`: change exporter/rules/alerts.toml instead.
Alerts and what to do about each: docs/alerts.md. Needs Prometheus 2.42 or later (keep_firing_for), and the
recorders' job to be called necroscope."""
NODE = "{{ or $labels.node $labels.instance }}"  # Go's template: the first that is not empty
PLACEHOLDER = re.compile(r"<([a-z-]+(?:\.[a-z_]+)?)>")
Document = dict[str, object]


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording rule: a question that is asked often, answered beforehand."""

    name: str
    expression: str
    why: str


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert. Its texts are templates of Prometheus'."""

    name: str
    severity: str
    expression: str
    summary: str
    description: str
    wait: str = ""  # how long it must hold before it fires
    keep: str = ""  # how long it fires on when it no longer holds
    needs: str = ""  # of node_exporter
    cannot_see: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are evaluated one after the other, so that alerts see what was recorded just now."""

    name: str
    recordings: tuple[Recording, ...]
    alerts: tuple[Alert, ...]


def read_groups(file_name: str, prefix: str) -> tuple[Group, ...]:
    """The rules in a file of rules/, with numbers and names filled in."""
    text = package_files("necroscope.exporter").joinpath("rules", file_name).read_text()
    return tuple(
        Group(
            f"{prefix}-{name}",
            tuple(_recording(*row) for row in table.get("record", {}).items()),
            tuple(_alert(*row) for row in table["alert"].items()),
        )
        for name, table in tomllib.loads(text).items()
    )


def rule_groups(groups: tuple[Group, ...], docs: str) -> list[Document]:
    """What Prometheus has below `groups`."""
    return [
        {
            "name": group.name,
            "rules": [
                *({"record": row.name, "expr": row.expression} for row in group.recordings),
                *(_alert_document(alert, docs) for alert in group.alerts),
            ],
        }
        for group in groups
    ]


def own_groups() -> tuple[Group, ...]:
    """The rules on the recorder's own metrics."""
    return read_groups("alerts.toml", "necroscope")


def files(docs: str) -> tuple[RuleFile, ...]:
    """The one file of `necroscope rules prometheus`."""
    document = {"groups": rule_groups(own_groups(), docs)}
    return (RuleFile("necroscope.rules.yaml", yaml_text(document, head=HEAD)),)


def _recording(name: str, row: dict[str, str]) -> Recording:
    return Recording(name, _filled(row["expr"]), row["why"])


def _alert(name: str, row: dict[str, str]) -> Alert:
    return Alert(
        name,
        row["severity"],
        _filled(row["expr"]),
        summary=_one_line(row["summary"]),
        description=_one_line(row["description"]),
        wait=row.get("for", ""),
        keep=row.get("keep_firing_for", ""),
        needs=row.get("needs", ""),
        cannot_see=row.get("cannot_see", ""),
    )


def _alert_document(alert: Alert, docs: str) -> Document:
    annotations = {
        "summary": alert.summary,
        "description": alert.description,
        "runbook_url": f"{docs}/alerts.md#{alert.name.lower()}",
        "needs": alert.needs,
        "cannot_see": alert.cannot_see,
    }
    document = {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.wait,
        "keep_firing_for": alert.keep,
        "labels": {"severity": alert.severity},
        "annotations": {name: text for name, text in annotations.items() if text},
    }
    return {name: value for name, value in document.items() if value}


def _one_line(text: str) -> str:
    return " ".join(_filled(text).split())


def _filled(text: str) -> str:
    return PLACEHOLDER.sub(lambda found: _value(found[1]), text.strip())


def _value(name: str) -> str:
    return NODE if name == "node" else f"{default_thresholds()[name].value:g}"
