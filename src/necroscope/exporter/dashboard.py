"""The Grafana dashboard, made of rules/dashboard.toml.

Written for Grafana 10 and 11: newer ones bring a file of an older schema up to date when they load it. The
numbers in it are the detectors' thresholds as shipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from necroscope.exporter.dashboard_panels import DATASOURCE, Json, link_document, panel_document
from necroscope.exporter.dashboard_source import ALL_NODES, Annotation, Row, Source, read_source
from necroscope.model.rule_file import RuleFile

SCHEMA_VERSION = 39  # of Grafana 10.4 and 11.0
COLUMNS = 24  # of Grafana's grid
ANNOTATION_STEP = "60s"

# A recorder that is down now was there in the time that is shown.
NODES = f"max by (instance, node) (last_over_time(necroscope_build_info{{{ALL_NODES}}}[$__range]))"
# Shown by the name of the node where targets have one as a label, else by address.
NODE_NAMES = '/instance="(?<value>[^"]+)"(?:.*node="(?<text>[^"]+)")?/'
LABEL_VALUES, QUERY_RESULT = 1, 3  # Grafana's numbers for kinds of variable queries
ON_TIME_RANGE = 2  # ask again whenever the range of time is changed
BY_NAME = 1


def files(docs: str) -> tuple[RuleFile, ...]:
    """The one file of `necroscope rules grafana`."""
    text = json.dumps(dashboard_document(read_source(), docs), indent=2, ensure_ascii=False)
    return (RuleFile("necroscope-dashboard.json", text + "\n"),)


def dashboard_document(source: Source, docs: str) -> Json:
    """What Grafana imports."""
    return {
        "uid": source.uid,
        "title": source.title,
        "description": source.tells,
        "tags": list(source.tags),
        "schemaVersion": SCHEMA_VERSION,
        "editable": False,
        "graphTooltip": 1,  # the same moment is marked in all panels
        "time": {"from": source.range, "to": "now"},
        "timezone": "browser",
        "refresh": source.refresh,
        "links": [link_document(link.title, f"{docs}/{link.page}") for link in source.links],
        "annotations": {"list": [_annotation(row) for row in source.annotations]},
        "templating": {"list": list(_variables())},
        "panels": list(_panels(source.rows, docs)),
    }


def _annotation(row: Annotation) -> Json:
    return {
        "name": row.title,
        "datasource": DATASOURCE,
        "enable": True,
        "expr": row.ask,
        "step": ANNOTATION_STEP,
        "titleFormat": row.name,
        "textFormat": row.text,
        "iconColor": row.colour,
    }


def _variables() -> Iterator[Json]:
    yield {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "regex": "",
    }
    # Many have no label for the cluster: "All" must match those too.
    cluster = "label_values(necroscope_build_info, cluster)"
    yield _variable("cluster", "Cluster", LABEL_VALUES, cluster, multi=True) | {"allValue": ".*"}
    # "All" is all jobs of recorders, and no other: `up` is of every target.
    job = 'label_values(necroscope_build_info{cluster=~"$cluster"}, job)'
    yield _variable("job", "Job", LABEL_VALUES, job, multi=True)
    yield _variable("instance", "Node", QUERY_RESULT, f"query_result({NODES})") | {"regex": NODE_NAMES}


def _variable(name: str, label: str, kind: int, query: str, *, multi: bool = False) -> Json:
    variable = {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"qryType": kind, "query": query, "refId": f"variable-{name}"},
        "multi": multi,
        "includeAll": multi,
        "refresh": ON_TIME_RANGE,
        "regex": "",
        "sort": BY_NAME,
    }
    return variable | ({"current": {"text": ["All"], "value": ["$__all"]}} if multi else {})


def _panels(rows: tuple[Row, ...], docs: str) -> Iterator[Json]:
    """Rows one below the other; the panels of each from the left, in as many lines as it takes."""
    number, top = 0, 0
    for row in rows:
        number += 1
        place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": place,
            "panels": [],
        }
        top, left, height = top + 1, 0, 0
        for panel in row.panels:
            if left + panel.width > COLUMNS:
                top, left, height = top + height, 0, 0
            number += 1
            place = {"x": left, "y": top, "w": panel.width, "h": panel.height}
            yield panel_document(panel, number, place, docs)
            left, height = left + panel.width, max(height, panel.height)
        top += height
