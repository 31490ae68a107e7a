"""A real API server that knows the kinds of the Prometheus operator takes what we ship of them, strictly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.kubernetes.render import KUSTOMIZE
from lab.machines import operator_kinds
from lab.machines.kubernetes import Cluster, ClusterError, api_server, why_not
from necroscope.exporter import rule_files
from tests.deploy.manifests import Objects, objects_in
from tests.deploy.renderings import NEEDS_PROGRAMS, helm_template, kustomize_build, overlay

pytestmark = [pytest.mark.skipif(bool(why_not()), reason=why_not()), *NEEDS_PROGRAMS]
MONITOR = ("PodMonitor", "necroscope")
RULE = ("PrometheusRule", "necroscope")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if reason := operator_kinds.why_not():  # not sooner: it asks the module proxy
        pytest.skip(reason)
    with api_server(tmp_path_factory.mktemp("cluster")) as cluster:
        operator_kinds.install(cluster)
        cluster.apply(overlay("perf").values())
        yield cluster


def component(folder: Path) -> Objects:
    """What an overlay of the operator's own makes of ours and the PodMonitor."""
    (folder / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        f"resources: [{_relative(folder, 'overlays/perf')}]\n"
        f"components: [{_relative(folder, 'components/pod-monitor')}]\n"
    )
    return kustomize_build(folder)


def _relative(folder: Path, name: str) -> str:
    return f"{'../' * (len(folder.resolve().parts) - 1)}{str(KUSTOMIZE / name).lstrip('/')}"


MAKERS: dict[str, Callable[[Path], Objects]] = {
    "kustomize": component,
    "helm": lambda _: helm_template("--set", "podMonitor.enabled=true,podMonitor.labels.release=x"),
    "rules": lambda _: objects_in(rule_files.prometheus_operator("https://docs.example")[0].text),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_it_is_accepted(cluster: Cluster, maker: str, tmp_path: Path) -> None:
    made = MAKERS[maker](tmp_path)
    cluster.warnings.clear()
    cluster.apply([made[MONITOR], *([made[RULE]] if RULE in made else [])])
    assert cluster.warnings == []
    assert (RULE in made) == (maker == "rules")


def test_the_monitors_are_the_same(tmp_path: Path) -> None:
    specs = [maker(tmp_path)[MONITOR]["spec"] for maker in MAKERS.values()]
    assert specs[0] == specs[1] == specs[2]


def test_recorders_are_found_but_for_those_of_reserved_nodes(tmp_path: Path) -> None:
    wanted = component(tmp_path)[MONITOR]["spec"]["selector"]["matchLabels"].items()
    recorder, reserved = [
        kustomize_build(folder)["DaemonSet", name]["spec"]["template"]["metadata"]["labels"].items()
        for folder, name in (
            (KUSTOMIZE / "overlays/perf", "necroscope"),
            (KUSTOMIZE / "repro", "necroscope-repro"),
        )
    ]
    assert wanted <= recorder and not wanted <= reserved


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "podMetricEndpoints"), []),
        (("spec", "podMetricsEndpoints", 0, "intervall"), "15s"),
        (("spec", "podMetricsEndpoints", 0, "interval"), "soon"),
    ],
)
def test_what_is_wrong_would_be_refused(cluster: Cluster, path: tuple[Any, ...], value: Any) -> None:
    monitor: Any = MAKERS["rules"](Path())[MONITOR]
    inner = monitor
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with pytest.raises(ClusterError):
        cluster.apply([monitor])
