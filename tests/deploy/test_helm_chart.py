"""The chart is valid, makes what kustomize makes, and every value in it does something."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from deploy.kubernetes.render import CHART, LEVELS
from tests.deploy.manifests import Objects
from tests.deploy.renderings import NEEDS_PROGRAMS, helm_template, overlay, run
from tests.deploy.test_helm_values import ALL_SCHEMAS, default

pytestmark = NEEDS_PROGRAMS
HELM_LABELS = ("app.kubernetes.io/managed-by", "helm.sh/chart")
CONFIG_SUM = "necroscope.dev/config-sha256"

# Another value for each, where it is not a matter of its type.
OTHERS: dict[str, Any] = {
    "level": "full",
    "image.pullPolicy": "Always",
    "seLinuxOptions": {"type": "spc_t"},
    "image.pullSecrets": [{"name": "registry"}],
    "store.path": "/data/necroscope",
    "listen.port": 9999,
    "resources": {"limits": {"cpu": "2"}},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "updateStrategy": {"type": "OnDelete"},
    "terminationGracePeriodSeconds": 30,
    "extraEnv": [{"name": "A", "value": "b"}],
    "user": 1_000_680_000,  # which Helm reads as 1.00068e+09
    "networkPolicy.from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
}


def without_helm(objects: Objects) -> Objects:
    for one in objects.values():
        for label in HELM_LABELS:
            del one["metadata"]["labels"][label]
    del objects["DaemonSet", "necroscope"]["spec"]["template"]["metadata"]["annotations"][CONFIG_SUM]
    return objects


def test_lint_has_nothing_to_say() -> None:
    linted = run("helm", "lint", "--strict", CHART)
    assert linted.returncode == 0, linted.stdout
    assert "[WARNING]" not in linted.stdout and "[ERROR]" not in linted.stdout


@pytest.mark.parametrize("level", LEVELS)
def test_it_makes_what_kustomize_makes(level: str) -> None:
    made = helm_template("--set", f"level={level},namespace.create=true")
    assert without_helm(made) == overlay(level)


def test_an_install_leaves_the_namespace_to_helm() -> None:
    assert ("Namespace", "necroscope") not in helm_template()


def test_another_namespace_is_meant_everywhere() -> None:
    made = run(
        "helm", "template", "necroscope", CHART, "--namespace", "observing", "--set", "namespace.create=true"
    )
    assert made.returncode == 0, made.stderr
    assert "namespace: necroscope" not in made.stdout and 'namespace: "necroscope"' not in made.stdout


@pytest.mark.parametrize("name", ALL_SCHEMAS)
def test_every_value_does_something(name: str, tmp_path: Path) -> None:
    document: Any = OTHERS.get(name, _other(default(name)))
    for part in reversed(name.split(".")):
        document = {part: document}
    if name.startswith("podMonitor."):
        document["podMonitor"]["enabled"] = True
    file = tmp_path / "values.json"
    file.write_text(json.dumps(document))
    before = helm_template(*(("--set", "podMonitor.enabled=true") if name.startswith("podMonitor.i") else ()))
    after = helm_template("--values", str(file))
    assert after != before
    daemon_set = after["DaemonSet", "necroscope"]
    kubernetes_validate.validate(daemon_set, kubernetes_validate.latest_version(), strict=True)


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case dict():
            return {"x": "y"}
        case _:
            return f"{value}-other"


def test_without_reports_there_is_no_right_and_no_token() -> None:
    made = helm_template("--set", "kubernetes.report=false")
    assert {kind for kind, _ in made} == {"ServiceAccount", "ConfigMap", "DaemonSet", "NetworkPolicy"}
    pod = made["DaemonSet", "necroscope"]["spec"]["template"]["spec"]
    assert not any("projected" in volume for volume in pod["volumes"])
    assert "--kubernetes" not in pod["containers"][0]["args"]


@pytest.mark.parametrize(
    "wrong",
    [
        "level=root",
        "levle=perf",
        "listen.port=80",
        "store.path=here",
        "kubernetes.reports=false",
        "image.tag=",
        "user=0",
        "networkPolicy.from=null",
    ],
)
def test_a_wrong_value_is_refused(wrong: str) -> None:
    made = run("helm", "template", "necroscope", CHART, "--set", wrong)
    assert made.returncode != 0
    assert wrong.partition("=")[0].rpartition(".")[2] in made.stderr


def test_other_configuration_replaces_the_pods() -> None:
    sums = [
        made["DaemonSet", "necroscope"]["spec"]["template"]["metadata"]["annotations"][CONFIG_SUM]
        for made in (helm_template(), helm_template("--set", "config=x"))
    ]
    assert sums[0] != sums[1]
