"""The alert rules are valid, use what exists, are tested by promtool, and have a runbook each."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from necroscope.cli.main import VERBS
from necroscope.cli.rules import DOCS
from necroscope.exporter import alert_rules, node_exporter_rules, operator_rules
from necroscope.exporter.alert_rules import Alert, Group, own_groups
from necroscope.exporter.families import FAMILIES
from necroscope.exporter.node_exporter_rules import node_exporter_groups

ROOT = Path(__file__).parents[2]
DEPLOYED = ROOT / "deploy/rules"
MANUAL = (ROOT / "docs/alerts.md").read_text()
OWN, OTHERS = own_groups(), node_exporter_groups()
SELECTOR = re.compile(r"\b(necroscope_\w+)(?:\{([^}]*)\})?")
RECORDED = re.compile(r"\b[a-z_]+:\w+:\w+\b")
TARGET_LABELS = {"cluster", "job", "instance", "node"}
PARTS = ("Means.", "Look first.", "Does not say", "To do.", "Clears")

needs_promtool = pytest.mark.skipif(
    not shutil.which("promtool"), reason="promtool is not installed: apt-get install prometheus"
)


def alerts_of(groups: tuple[Group, ...]) -> list[Alert]:
    return [alert for group in groups for alert in group.alerts]


def texts_of(groups: tuple[Group, ...]) -> list[str]:
    """All that Prometheus will evaluate: expressions, and the queries inside of texts."""
    recorded = [row.expression for group in groups for row in group.recordings]
    return recorded + [text for one in alerts_of(groups) for text in (one.expression, one.description)]


def promtool(*words: str | Path) -> str:
    done = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@needs_promtool
@pytest.mark.parametrize("module", [alert_rules, node_exporter_rules])
def test_prometheus_accepts_the_rules(module: Any, tmp_path: Path) -> None:
    (file,) = module.files(DOCS)
    (tmp_path / file.name).write_text(file.text)
    assert "SUCCESS" in promtool("check", "rules", tmp_path / file.name)


@needs_promtool
def test_alerts_fire_do_not_fire_on_near_misses_and_clear() -> None:
    promtool("test", "rules", *sorted((DEPLOYED / "tests").glob("*.yaml")))


@pytest.mark.parametrize("module", [alert_rules, node_exporter_rules, operator_rules])
def test_what_is_deployed_is_what_the_program_makes(module: Any) -> None:
    for file in module.files(DOCS):
        assert (DEPLOYED / file.name).read_text() == file.text, "make deploy-files"


def test_every_alert_is_seen_to_be_quiet_then_fire_then_clear() -> None:
    seen: dict[str, list[bool]] = {}
    for path in sorted((DEPLOYED / "tests").glob("*.yaml")):
        for test in yaml.safe_load(path.read_text())["tests"]:
            for check in test["alert_rule_test"]:
                seen.setdefault(check["alertname"], []).append(bool(check.get("exp_alerts")))
    for alert in alerts_of(OWN + OTHERS):
        assert re.search("FT+F", "".join("FT"[fires] for fires in seen[alert.name])), alert.name


def test_our_rules_use_only_metrics_and_labels_that_there_are() -> None:
    labels = {family.name: {*family.labels, *TARGET_LABELS} for family in FAMILIES}
    for text in texts_of(OWN):
        for name, matchers in SELECTOR.findall(RECORDED.sub("", text)):
            assert name in labels, name
            assert set(re.findall(r"(\w+)(?:=~|!~|!=|=)", matchers)) <= labels[name], text


@pytest.mark.parametrize("groups", [OWN, OTHERS], ids=["own", "node-exporter"])
def test_what_is_recorded_is_named_well_and_used_only_if_recorded(groups: tuple[Group, ...]) -> None:
    recorded = [row for group in groups for row in group.recordings]
    assert all(RECORDED.fullmatch(row.name) and row.why.endswith(".") for row in recorded)
    used = {name for text in texts_of(groups) for name in RECORDED.findall(text)}
    assert used <= {row.name for row in recorded}


@pytest.mark.parametrize("alert", alerts_of(OWN + OTHERS), ids=lambda alert: alert.name)
def test_an_alert_says_what_a_person_needs(alert: Alert) -> None:
    assert alert.severity in ("critical", "warning", "info")
    assert alert.summary.endswith(".") and alert.description.endswith((".", "{{ end }}"))
    assert "<" not in alert.summary + alert.description, "a placeholder was left"
    assert "labels.node" in alert.summary or alert.name == "NecroscopeAbsent"


def test_alerts_on_the_metrics_of_others_say_what_they_need_and_cannot_see() -> None:
    assert all(alert.needs and alert.cannot_see for alert in alerts_of(OTHERS))


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", MANUAL, re.MULTILINE | re.DOTALL))
    assert list(sections) == [alert.name for alert in alerts_of(OWN + OTHERS)]
    for name, text in sections.items():
        assert re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE) == list(PARTS), name


def test_every_alert_has_its_row() -> None:
    for alert in alerts_of(OWN):
        assert f"| [{alert.name}](#{alert.name.lower()}) | {alert.severity} |" in MANUAL


def test_runbooks_name_verbs_that_there_are() -> None:
    verbs = set(re.findall(r"`necroscope ([a-z]+)", MANUAL))
    assert verbs <= VERBS.keys()


def test_the_operators_objects_have_the_same_rules_and_find_the_recorders() -> None:
    (file,) = operator_rules.files(DOCS)
    rule, monitor = yaml.safe_load_all(file.text)
    assert rule["spec"] == yaml.safe_load(alert_rules.files(DOCS)[0].text)
    assert {one["apiVersion"] for one in (rule, monitor)} == {"monitoring.coreos.com/v1"}
    assert monitor["spec"]["selector"] == {"matchLabels": operator_rules.SELECTOR}
    assert monitor["spec"]["podMetricsEndpoints"][0]["port"] == "metrics"
    assert monitor["spec"]["jobLabel"] == "app.kubernetes.io/name", "the job is then called necroscope"
