"""Panels as Grafana's JSON: how each kind of ours is drawn, and what its fields are called there.

Grafana fills in what is left out; what is here is what a reader sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any

from necroscope.exporter.dashboard_source import WELL, Limits, Panel, Query, Words

Json = dict[str, Any]

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
BARS_INTERVAL = "1m"  # shorter steps would show one reset in several bars: the window of a rate is a minute
AT_ONCE = ("stat", "table")  # ask for the last value only
PANEL_TYPES = {
    "lines": "timeseries",
    "stacked": "timeseries",
    "bars": "timeseries",
    "points": "timeseries",
    "stat": "stat",
    "table": "table",
    "state-timeline": "state-timeline",
}
DRAWING: Mapping[str, Json] = {
    "lines": {"drawStyle": "line", "fillOpacity": 0, "showPoints": "never"},
    "stacked": {
        "drawStyle": "line",
        "fillOpacity": 30,
        "showPoints": "never",
        "stacking": {"mode": "normal", "group": "A"},
    },
    "bars": {
        "drawStyle": "bars",
        "fillOpacity": 80,
        "showPoints": "never",
        "stacking": {"mode": "normal", "group": "A"},
    },
    "points": {"drawStyle": "points", "pointSize": 4, "showPoints": "always"},
    "state-timeline": {"lineWidth": 0, "fillOpacity": 80},
}
LINE_AMONG_BARS: Mapping[str, Any] = {
    "custom.drawStyle": "line",
    "custom.fillOpacity": 0,
    "custom.stacking": {"mode": "none", "group": "A"},
}


def panel_document(panel: Panel, number: int, place: Json, docs: str) -> Json:
    """A panel at its place in the grid."""
    document = {
        "id": number,
        "type": PANEL_TYPES[panel.kind],
        "title": panel.title,
        "description": panel.tells,
        "datasource": DATASOURCE,
        "gridPos": place,
        "targets": [_target(panel, *one) for one in zip(ascii_uppercase, panel.queries, strict=False)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": list(_overrides(panel))},
        "options": _options(panel),
    }
    if panel.page:
        document["links"] = [link_document(panel.page, f"{docs}/{panel.page}")]
    if panel.kind == "bars":
        document["interval"] = BARS_INTERVAL
    if panel.kind == "table":
        document["transformations"] = _transformations(panel)
    return document


def link_document(title: str, url: str) -> Json:
    """A link to another page; Grafana's schema wants every field."""
    return {
        "type": "link",
        "title": title,
        "url": url,
        "icon": "doc",
        "tooltip": "",
        "tags": [],
        "asDropdown": False,
        "targetBlank": True,
        "includeVars": False,
        "keepTime": False,
    }


def _target(panel: Panel, letter: str, query: Query) -> Json:
    at_once = panel.kind in AT_ONCE
    return {
        "refId": letter,
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": query.ask,
        "legendFormat": query.name or "__auto",
        "format": "table" if panel.kind == "table" else "time_series",
        "instant": at_once,
        "range": not at_once,
    }


def _defaults(panel: Panel) -> Json:
    """How all fields of a panel are shown."""
    by_value = panel.kind in {"stat", "table", "state-timeline"}
    defaults: Json = {
        "unit": panel.unit,
        "color": {"mode": "thresholds" if by_value else "palette-classic"},
        "thresholds": _thresholds(panel.limits, WELL),
        "mappings": _mappings(panel.words),
    }
    if panel.kind in DRAWING:
        defaults["custom"] = DRAWING[panel.kind] | (
            {"thresholdsStyle": {"mode": "dashed"}} if panel.limits else {}
        )
    return defaults | dict(zip(("min", "max"), panel.range, strict=False))


def _overrides(panel: Panel) -> list[Json]:
    """How single fields are shown, by their name."""
    coloured = panel.kind == "table"
    rows = [_override(query.name, _properties(query, coloured=coloured)) for query in panel.queries]
    rows += [_override(name, {"color": _fixed(colour)}) for name, colour in panel.colours.items()]
    rows += [_override(column, {"links": [NODE_LINK]}) for column in panel.opens_node]
    return [row for row in rows if row["properties"]]


def _override(name: str, properties: Mapping[str, Any]) -> Json:
    pattern = name.startswith("/")
    return {
        "matcher": {"id": "byRegexp" if pattern else "byName", "options": name},
        "properties": [{"id": id, "value": value} for id, value in properties.items()],
    }


def _properties(query: Query, *, coloured: bool) -> Json:
    found: Json = {}
    if query.unit:
        found["unit"] = query.unit
    if query.decimals is not None:
        found["decimals"] = query.decimals
    if query.colour:
        found["color"] = _fixed(query.colour)
    if query.limits:
        found["thresholds"] = _thresholds(query.limits, query.below)
    if query.words:
        found["mappings"] = _mappings(query.words)
    if coloured and (query.limits or query.words):
        found["custom.cellOptions"] = {"type": "color-text"}
    return found | (dict(LINE_AMONG_BARS) if query.line else {})


def _fixed(colour: str) -> Json:
    return {"mode": "fixed", "fixedColor": colour}


def _thresholds(limits: Limits, below: str) -> Json:
    """Steps of colours; the first is that of everything below the first limit."""
    steps = [{"color": colour, "value": value} for colour, value in limits]
    return {"mode": "absolute", "steps": [{"color": below, "value": None}, *steps]}


def _mappings(words: Words) -> list[Json]:
    if not words:
        return []
    names = {
        value: {"text": text, "color": colour, "index": place}
        for place, (value, (text, colour)) in enumerate(words.items())
    }
    return [{"type": "value", "options": names}]


# The same dashboard, with the time and the variables as they are, but for the node.
NODE_LINK = {
    "title": "show this node below",
    "url": "/d/necroscope?${__url_time_range}&${datasource:queryparam}&${cluster:queryparam}"
    "&${job:queryparam}&var-instance=${__data.fields.Instance}",
}


def _options(panel: Panel) -> Json:
    """What belongs to the type of panel."""
    if panel.kind == "stat":
        return {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "textMode": "value_and_name",
            "colorMode": "value",
            "graphMode": "none",
            "orientation": "vertical",
        }
    if panel.kind == "table":
        is_number = any(query.name == panel.sort for query in panel.queries)
        return {
            "cellHeight": "sm",
            "showHeader": True,
            "sortBy": [{"displayName": panel.sort, "desc": is_number}],
            "footer": {"show": False, "enablePagination": True, "reducer": ["sum"]},
        }
    if panel.kind == "state-timeline":
        return {"mergeValues": True, "showValue": "auto", "rowHeight": 0.9, "legend": {"showLegend": False}}
    return {
        "legend": {
            "displayMode": "table",
            "placement": "bottom",
            "showLegend": True,
            "calcs": ["max", "lastNotNull"],
        },
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def _transformations(panel: Panel) -> list[Json]:
    """One line for each set of labels, and a column for each query.

    Grafana calls the column of a query `Value #A`, and just `Value` where there is only one query.
    """
    names = [f"Value #{letter}" for letter, _ in zip(ascii_uppercase, panel.queries, strict=False)]
    values = dict(zip(names if len(names) > 1 else ["Value"], panel.queries, strict=True))
    hidden = ["Time", *(column for column, query in values.items() if not query.name)]
    renamed = dict(panel.columns) | {column: query.name for column, query in values.items() if query.name}
    organize = {
        "excludeByName": dict.fromkeys(hidden, True),
        "indexByName": {column: place for place, column in enumerate(renamed)},
        "renameByName": renamed,
    }
    return [{"id": "merge", "options": {}}, {"id": "organize", "options": organize}]
