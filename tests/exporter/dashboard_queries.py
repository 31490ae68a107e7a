"""The queries of the dashboard as Grafana would send them, for tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from necroscope.cli.rules import DOCS
from necroscope.exporter import rule_files

VARIABLE = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class Asked:
    """One query: where it stands, and what it asks."""

    panel: str
    name: str
    ask: str
    at_once: bool  # for the last value only

    @property
    def where(self) -> str:
        """For people."""
        return f"{self.panel}: {self.name}"


def dashboard(docs: str = DOCS) -> dict[str, Any]:
    """What Grafana imports."""
    document: dict[str, Any] = json.loads(rule_files.grafana(docs)[0].text)
    return document


def panels() -> list[dict[str, Any]]:
    """All panels but the heads of rows."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def all_queries() -> list[Asked]:
    """Those of panels, annotations and variables."""
    return [*_of_panels(), *_of_annotations(), *_of_variables()]


def _of_panels() -> Iterator[Asked]:
    for panel in panels():
        names = [
            transformation["options"]["renameByName"]
            for transformation in panel.get("transformations", ())
            if transformation["id"] == "organize"
        ]
        for target in panel["targets"]:
            column = names[0].get(f"Value #{target['refId']}") if names else None
            yield Asked(panel["title"], column or target["legendFormat"], target["expr"], target["instant"])


def _of_annotations() -> Iterator[Asked]:
    for row in dashboard()["annotations"]["list"]:
        yield Asked("annotations", row["name"], row["expr"], at_once=False)


def _of_variables() -> Iterator[Asked]:
    """The queries themselves: `label_values` asks for the series of its selector."""
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            asked = re.fullmatch(
                r"(?:query_result|label_values)\((.*?)(?:, \w+)?\)", variable["query"]["query"]
            )
            assert asked, variable
            yield Asked("variables", variable["name"], asked[1], at_once=True)


def as_grafana_asks(
    ask: str, *, instance: str, rate_interval: str = "60s", shown: str = "6h", job: str = "necroscope"
) -> str:
    """A query with its variables filled in; every cluster is asked for."""
    values = {
        "cluster": ".*",
        "job": job,
        "instance": instance,
        "__rate_interval": rate_interval,
        "__range": shown,
    }
    return VARIABLE.sub(lambda found: values[found[1]], ask)
