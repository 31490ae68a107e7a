"""The rows, panels and queries of rules/dashboard.toml, with matchers and thresholds filled in."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from necroscope.signals.thresholds import default_thresholds

ALL_NODES = 'cluster=~"$cluster",job=~"$job"'
MATCHERS = {"all-nodes": ALL_NODES, "this-node": f'{ALL_NODES},instance="$instance"'}
PLACEHOLDER = re.compile(r"<([a-z-]+(?:\.[a-z_]+)?)>")
WELL = "green"  # the colour of a value below all limits

Limits = tuple[tuple[str, float], ...]  # a colour, and the value from which it holds
Words = Mapping[str, tuple[str, str]]  # what a value is called, and its colour


@dataclass(frozen=True, slots=True)
class Query:
    """One question to Prometheus, and how its answer is shown."""

    name: str  # of the series, or of a table's column
    ask: str
    unit: str = ""
    decimals: int | None = None
    colour: str = ""
    limits: Limits = ()
    below: str = WELL
    words: Words = field(default_factory=dict)
    line: bool = False  # among bars


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture, and the sentence that says what it tells."""

    title: str
    kind: str
    tells: str
    queries: tuple[Query, ...]
    page: str = ""
    width: int = 24
    height: int = 8
    unit: str = "none"
    range: tuple[float, ...] = ()
    limits: Limits = ()
    words: Words = field(default_factory=dict)
    colours: Mapping[str, str] = field(default_factory=dict)  # by the name of a series, or a /pattern/
    columns: Mapping[str, str] = field(default_factory=dict)  # of a table: labels and what they are called
    opens_node: tuple[str, ...] = ()  # columns that lead to the rows of that node
    sort: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels that answer one question."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A page of the documentation."""

    title: str
    page: str


@dataclass(frozen=True, slots=True)
class Annotation:
    """What is marked in every panel at its time."""

    title: str
    ask: str
    name: str
    text: str
    colour: str


@dataclass(frozen=True, slots=True)
class Source:
    """The whole dashboard."""

    title: str
    uid: str
    tells: str
    tags: tuple[str, ...]
    range: str
    refresh: str
    links: tuple[Link, ...]
    annotations: tuple[Annotation, ...]
    rows: tuple[Row, ...]


@cache
def read_source() -> Source:
    """The dashboard as it is shipped."""
    document = tomllib.loads(files("necroscope.exporter").joinpath("rules/dashboard.toml").read_text())
    return Source(
        links=tuple(Link(**row) for row in document.pop("link")),
        annotations=tuple(
            Annotation(**row | {"ask": _filled(row["ask"])}) for row in document.pop("annotation")
        ),
        rows=tuple(Row(row["title"], tuple(map(_panel, row["panel"]))) for row in document.pop("row")),
        tags=tuple(document.pop("tags")),
        **document,
    )


def _panel(row: dict[str, Any]) -> Panel:
    queries = tuple(Query(**_shown(query) | {"ask": _filled(query["ask"])}) for query in row.pop("query"))
    lists: dict[str, Any] = {name: tuple(row.pop(name)) for name in ("range", "opens_node") if name in row}
    return Panel(**_shown(row) | {"tells": _filled(row["tells"])} | lists, queries=queries)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A panel or query with its limits as numbers and its words as pairs."""
    limits = tuple((colour, _number(value)) for colour, value in row.get("limits", {}).items())
    words = {value: (text, colour) for value, (text, colour) in row.get("words", {}).items()}
    return row | {"limits": limits, "words": words}


def _number(value: float | str) -> float:
    """A limit: a number, a threshold, or a product of such."""
    return (
        math.prod(float(factor) for factor in _filled(value).split("*")) if isinstance(value, str) else value
    )


def _filled(text: str) -> str:
    return PLACEHOLDER.sub(lambda found: _value(found[1]), text.strip())


def _value(name: str) -> str:
    return MATCHERS.get(name) or f"{default_thresholds()[name].value:g}"
