"""The dashboard is what Grafana takes, asks for metrics that there are, and says what each panel tells."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from necroscope.cli.rules import DOCS
from necroscope.exporter import rule_files
from necroscope.exporter.families import FAMILIES
from necroscope.signals.thresholds import default_thresholds
from tests.exporter.alert_rules import OWN
from tests.exporter.dashboard_queries import Asked, all_queries, as_grafana_asks, dashboard, panels

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "deploy/rules/necroscope-dashboard.json"
LABELS = {family.name: set(family.labels) for family in FAMILIES}
# Of the target, and of Prometheus itself.
TARGET_LABELS = {"cluster", "job", "instance", "node"}
OTHERS = {"up": set[str](), "ALERTS": {"alertname", "alertstate", "severity"}}
SELECTOR = re.compile(r"\b(\w+)\{([^}]*)\}")
BY = re.compile(r"\bby \(([^)]*)\)")
PANEL_TYPES = {"row", "stat", "table", "timeseries", "state-timeline"}
# Of Grafana's own list; `suffix:` puts any word behind a number.
UNITS = re.compile(r"none|short|percentunit|s|bytes|suffix:\S+")
COLOURS = {"green", "blue", "orange", "red", "purple", "yellow", "text"}

each_panel = pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel["title"])
each_query = pytest.mark.parametrize("query", all_queries(), ids=lambda query: query.where)


def values_of(document: Any, key: str) -> list[Any]:
    """All values of a key, however deep."""
    if isinstance(document, list):
        return [value for one in document for value in values_of(one, key)]
    if not isinstance(document, dict):
        return []
    here = [document[key]] if key in document else []
    return here + [value for one in document.values() for value in values_of(one, key)]


def test_the_shipped_copy_has_the_thresholds_as_shipped() -> None:
    assert SHIPPED.read_text() == rule_files.grafana(DOCS)[0].text, "make deploy-files"


def test_ids_are_unique_and_types_known() -> None:
    found = dashboard()["panels"]
    assert len({panel["id"] for panel in found}) == len(found)
    assert {panel["type"] for panel in found} == PANEL_TYPES
    assert len({panel["title"] for panel in panels()}) == len(panels())


def test_panels_fill_the_grid_and_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    cells = [
        {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        for at in places
    ]
    assert all(at["w"] > 0 and at["h"] > 0 and 0 <= at["x"] <= 24 - at["w"] for at in places)
    assert not [pair for pair in combinations(cells, 2) if pair[0] & pair[1]]
    covered = set().union(*cells)
    assert len(covered) == 24 * max(at["y"] + at["h"] for at in places), "no holes"


@each_panel
def test_a_panel_says_what_it_tells_and_where_more_is(panel: dict[str, Any]) -> None:
    tells = panel["description"]
    assert 20 < len(tells) < 250 and tells.endswith(".") and "<" not in tells
    for link in panel.get("links", ()):
        assert link["url"].startswith(f"{DOCS}/")
        assert (ROOT / "docs" / link["url"].removeprefix(f"{DOCS}/")).exists()


@each_panel
def test_a_panel_is_drawn_with_known_units_and_colours(panel: dict[str, Any]) -> None:
    config = panel["fieldConfig"]
    given = {
        property["id"]: property["value"] for row in config["overrides"] for property in row["properties"]
    }
    units = [config["defaults"]["unit"], *([given["unit"]] if "unit" in given else [])]
    assert all(UNITS.fullmatch(unit) for unit in units)
    colours = {colour for colour in values_of(config, "color") if isinstance(colour, str)}
    assert colours | set(values_of(config, "fixedColor")) <= COLOURS
    for steps in values_of(config, "steps"):
        assert steps[0]["value"] is None
        limits = [step["value"] for step in steps[1:]]
        assert limits == sorted(set(limits))


@each_panel
def test_queries_have_their_letters_and_what_is_said_of_one_is_of_one(panel: dict[str, Any]) -> None:
    letters = [target["refId"] for target in panel["targets"]]
    assert letters and len(set(letters)) == len(letters)
    names = {query.name for query in all_queries() if query.panel == panel["title"]}
    columns = [row["options"].get("renameByName", {}) for row in panel.get("transformations", ())]
    names |= {name for renamed in columns for name in renamed.values()}
    for row in panel["fieldConfig"]["overrides"]:
        kind, what = row["matcher"]["id"], row["matcher"]["options"]
        if kind == "byName" and not any("{{" in name for name in names):
            assert what in names
        elif kind == "byRegexp":
            assert re.fullmatch(r"/.+/", what)


@each_panel
def test_a_panel_that_shows_one_value_asks_for_the_last_one(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        assert target["instant"] == (panel["type"] in ("stat", "table")) != target["range"]
        assert target["format"] == ("table" if panel["type"] == "table" else "time_series")


def test_the_data_source_is_a_variable_everywhere() -> None:
    assert dashboard()["templating"]["list"][0]["name"] == "datasource"
    found = values_of({"all": dashboard()}, "datasource")
    assert {source["uid"] for source in found} == {"${datasource}"}


def test_variables_come_after_those_they_ask_with() -> None:
    known: list[str] = []
    for variable in dashboard()["templating"]["list"]:
        used = re.findall(r"\$(\w+)", str(variable["query"]))
        assert set(used) <= {*known, "__range"}
        known.append(variable["name"])
    assert known == ["datasource", "cluster", "job", "instance"]


@pytest.mark.parametrize(
    ("series", "text"),
    [
        ('{instance="10.1.2.3:9464",node="ip-10-1-2-3"} 1 1776247331000', "ip-10-1-2-3"),
        ('{instance="10.1.2.3:9464"} 1 1776247331000', None),
    ],
)
def test_nodes_are_called_by_their_name(series: str, text: str | None) -> None:
    (node,) = [row for row in dashboard()["templating"]["list"] if row["name"] == "instance"]
    found = re.search(node["regex"].strip("/").replace("(?<", "(?P<"), series)
    assert found and found.groupdict() == {"value": "10.1.2.3:9464", "text": text}


@each_query
def test_a_query_asks_for_metrics_and_labels_that_there_are(query: Asked) -> None:
    selectors = SELECTOR.findall(query.ask)
    names = {name for name, _ in selectors} or {query.ask}
    assert names <= LABELS.keys() | OTHERS.keys()
    for name, matchers in selectors:
        labels = set(re.findall(r"(\w+)!?=~?\"", matchers))
        assert labels <= LABELS.get(name, OTHERS.get(name, set())) | TARGET_LABELS
        if query.panel != "variables":
            assert {"cluster", "job"} <= labels
    # A metric without braces would be of all nodes.
    assert set(re.findall(r"necroscope_\w+", query.ask)) <= names


@each_query
def test_a_legend_has_only_labels_that_the_query_keeps(query: Asked) -> None:
    kept = {label for found in BY.findall(query.ask) for label in found.split(", ")}
    assert set(re.findall(r"\{\{(\w+)\}\}", query.name)) <= kept | OTHERS["ALERTS"]
    known = {label for name, _ in SELECTOR.findall(query.ask) for label in LABELS.get(name, ())}
    assert kept <= known | TARGET_LABELS


@each_query
def test_no_average_where_a_maximum_is_the_point(query: Asked) -> None:
    assert not re.search(r"\b(avg|avg_over_time|quantile\w*)\b", query.ask)
    for name in re.findall(r"necroscope_\w+_max\b", query.ask):
        assert re.search(rf"max_over_time\({name}", query.ask), "thinned out to single scrapes"
    for name in re.findall(r"necroscope_\w+_total\b", query.ask):
        assert re.search(rf"\b(rate|increase)\({name}", query.ask) or " offset 24h" in query.ask


def test_numbers_are_the_detectors() -> None:
    limits = {
        (panel["title"], step["color"]): step["value"]
        for panel in panels()
        for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    }
    thresholds = {name: threshold.value for name, threshold in default_thresholds().items()}
    assert limits["Zombies and cgroups in use", "red"] == thresholds["zombie-memory-cgroups.critical"]
    assert limits["Growth of zombies", "orange"] == 60 * thresholds["wall.leak_per_minute"]
    assert limits["Softirq delay", "orange"] == thresholds["softirq-starved.delay_seconds"]


def test_links_lead_where_asked() -> None:
    other = dashboard("https://docs.example/necroscope")
    urls = [link["url"] for link in (*other["links"], *values_of(other["panels"], "links")[0])]
    assert urls and all(url.startswith(("https://docs.example/necroscope/", "/d/")) for url in urls)
    assert all((ROOT / "docs" / Path(link["url"]).name).exists() for link in other["links"])


def test_our_alerts_are_those_that_are_marked() -> None:
    (marked,) = [row["expr"] for row in dashboard()["annotations"]["list"] if row["name"] == "Alerts"]
    names = re.search(r'alertname=~"([^"]+)"', marked)
    assert names
    assert all(re.fullmatch(names[1], alert["alert"]) for alert in OWN.alerts)


def test_promtool_parses_every_query(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if not promtool:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    rules = [
        {"record": f"query:{number}", "expr": as_grafana_asks(query.ask, instance="node-17:9464")}
        for number, query in enumerate(all_queries())
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    ran = subprocess.run([promtool, "check", "rules", file], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert f"{len(rules)} rules found" in ran.stdout
