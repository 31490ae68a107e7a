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
from necroscope.exporter import rule_files
from necroscope.exporter.families import FAMILIES
from tests.exporter.alert_rules import OTHERS, OWN, RECORDED, AlertRules

ROOT = Path(__file__).parents[2]
DEPLOYED = ROOT / "deploy/rules"
COMPONENT = ROOT / "deploy/kubernetes/components/pod-monitor/pod-monitor.yaml"
MANUAL = (ROOT / "docs/alerts.md").read_text()
ALERTS = OWN.alerts + OTHERS.alerts
SELECTOR = re.compile(r"\b(necroscope_\w+)(?:\{([^}]*)\})?")
EXPLAINED = re.compile(r"^ +# .*\.\n +- record: (\S+)$", re.MULTILINE)
TARGET_LABELS = {"cluster", "job", "instance", "node"}
PARTS = ("Means.", "Look first.", "Does not say", "To do.", "Clears")

needs_promtool = pytest.mark.skipif(
    not shutil.which("promtool"), reason="promtool is not installed: apt-get install prometheus"
)


each_file = pytest.mark.parametrize("rules", [OWN, OTHERS], ids=["own", "node-exporter"])


def promtool(*words: str | Path) -> str:
    done = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@needs_promtool
@each_file
def test_prometheus_accepts_the_rules(rules: AlertRules, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(rules.file.text)
    assert "SUCCESS" in promtool("check", "rules", tmp_path / "rules.yaml")


@needs_promtool
def test_alerts_fire_do_not_fire_on_near_misses_and_clear() -> None:
    promtool("test", "rules", *sorted((DEPLOYED / "tests").glob("*.yaml")))


def test_what_is_deployed_has_the_thresholds_as_shipped() -> None:
    for file in (OWN.file, OTHERS.file, *rule_files.prometheus_operator(DOCS)):
        assert (DEPLOYED / file.name).read_text() == file.text, "make deploy-files"


def test_every_alert_is_seen_to_be_quiet_then_fire_then_clear() -> None:
    seen: dict[str, list[bool]] = {}
    for path in sorted((DEPLOYED / "tests").glob("*.yaml")):
        for test in yaml.safe_load(path.read_text())["tests"]:
            for check in test["alert_rule_test"]:
                seen.setdefault(check["alertname"], []).append(bool(check.get("exp_alerts")))
    for name in (alert["alert"] for alert in ALERTS):
        assert re.search("FT+F", "".join("FT"[fires] for fires in seen[name])), name


def test_our_rules_use_only_metrics_and_labels_that_there_are() -> None:
    labels = {family.name: {*family.labels, *TARGET_LABELS} for family in FAMILIES}
    for text in OWN.texts:
        for name, matchers in SELECTOR.findall(RECORDED.sub("", text)):
            assert name in labels, name
            assert set(re.findall(r"(\w+)(?:=~|!~|!=|=)", matchers)) <= labels[name], text


@each_file
def test_what_is_recorded_is_named_well_explained_and_used_only_if_recorded(rules: AlertRules) -> None:
    names = [rule["record"] for rule in rules.recordings]
    assert all(map(RECORDED.fullmatch, names))
    assert EXPLAINED.findall(rules.file.text) == names
    assert {name for text in rules.texts for name in RECORDED.findall(text)} <= set(names)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_says_what_a_person_needs(alert: dict[str, Any]) -> None:
    texts = alert["annotations"]
    assert alert["labels"].keys() == {"severity"}
    assert alert["labels"]["severity"] in ("critical", "warning", "info")
    assert texts["summary"].endswith(".") and texts["description"].endswith((".", "{{ end }}"))
    assert not any("<" in text or "\n" in text for text in texts.values()), "a placeholder or a line was left"
    assert texts["runbook_url"] == f"{DOCS}/alerts.md#{alert['alert'].lower()}"
    assert "labels.node" in texts["summary"] or alert["alert"] == "NecroscopeAbsent"


def test_alerts_on_the_metrics_of_others_say_what_they_need_and_cannot_see() -> None:
    assert all(alert["annotations"].keys() >= {"needs", "cannot_see"} for alert in OTHERS.alerts)


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", MANUAL, re.MULTILINE | re.DOTALL))
    assert list(sections) == [alert["alert"] for alert in ALERTS]
    for name, text in sections.items():
        assert re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE) == list(PARTS), name


def test_every_alert_has_its_row() -> None:
    for alert in OWN.alerts:
        name, severity = alert["alert"], alert["labels"]["severity"]
        assert f"| [{name}](#{name.lower()}) | {severity} |" in MANUAL


def test_runbooks_name_verbs_that_there_are() -> None:
    verbs = set(re.findall(r"`necroscope ([a-z]+)", MANUAL))
    assert verbs <= VERBS.keys()


def test_the_operators_objects_have_the_same_rules_and_find_the_recorders() -> None:
    (file,) = rule_files.prometheus_operator(DOCS)
    rule, monitor = yaml.safe_load_all(file.text)
    assert rule["spec"] == OWN.document
    assert {one["apiVersion"] for one in (rule, monitor)} == {"monitoring.coreos.com/v1"}
    assert monitor["spec"] == yaml.safe_load(COMPONENT.read_text())["spec"], "as in deploy/kubernetes"
    assert monitor["spec"]["podMetricsEndpoints"][0]["port"] == "metrics"
    assert monitor["spec"]["jobLabel"] == "app.kubernetes.io/name", "the job is then called necroscope"
