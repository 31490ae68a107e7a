"""The repro pool: valid, on its own nodes only, and a load that is the same in every second."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from deploy.kubernetes.repro.constant_load import next_of
from tests.deploy.manifests import VERSION, Objects
from tests.deploy.renderings import kustomize_build, needs_programs, overlay

FOLDER = Path(__file__).parents[2] / "deploy/kubernetes/repro"
LOAD = FOLDER / "constant_load.py"
TAINT = {"key": "necroscope.dev/repro", "value": "", "effect": "NoSchedule"}
OURS = {("DaemonSet", "necroscope-repro"), ("Job", "constant-load"), ("Service", "constant-load")}
OURS |= {("ConfigMap", "constant-load")}


@pytest.fixture(scope="module")
def built() -> Objects:
    return kustomize_build(FOLDER)


def tolerates(pod: dict[str, Any]) -> bool:
    return any(
        one.get("key") in (None, TAINT["key"])
        and one["operator"] == "Exists"
        and one.get("effect") in (None, TAINT["effect"])
        for one in pod["tolerations"]
    )


@needs_programs
@pytest.mark.parametrize("version", ["1.30.0", kubernetes_validate.latest_version()])
def test_every_object_is_valid(built: Objects, version: str) -> None:
    for document in built.values():
        kubernetes_validate.validate(document, version, strict=True)


@needs_programs
def test_it_adds_to_an_installation_and_changes_nothing_of_it(built: Objects) -> None:
    assert built.keys() == OURS
    assert not built.keys() & overlay("full").keys()


@needs_programs
def test_its_pods_run_on_the_pool_only_and_bear_its_taint(built: Objects) -> None:
    for name in (("DaemonSet", "necroscope-repro"), ("Job", "constant-load")):
        pod = built[name]["spec"]["template"]["spec"]
        assert pod["nodeSelector"]["necroscope.dev/pool"] == "repro"
        assert tolerates(pod)
        assert {one["image"] for one in pod["containers"]} == {f"necroscope:{VERSION}"}


@needs_programs
def test_the_recorder_is_another_one_at_a_high_rate(built: Objects) -> None:
    usual = overlay("full")["DaemonSet", "necroscope"]["spec"]
    spec = built["DaemonSet", "necroscope-repro"]["spec"]
    assert spec["selector"]["matchLabels"] != usual["selector"]["matchLabels"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert not usual["selector"]["matchLabels"].items() <= labels.items(), "two owners of one pod"
    (recorder,) = spec["template"]["spec"]["containers"]
    before = usual["template"]["spec"]["containers"][0]["args"]
    assert recorder["args"] == [*before, "--rate=997", "--segment=120s", "--budget=64GiB"]


@needs_programs
def test_the_load_is_one_pod_a_node(built: Objects) -> None:
    job = built["Job", "constant-load"]["spec"]
    assert job["completions"] == job["parallelism"]
    service = built["Service", "constant-load"]["spec"]
    labels = job["template"]["metadata"]["labels"]
    assert service["selector"] == labels and service["clusterIP"] == "None"
    (rule,) = job["template"]["spec"]["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert (rule["topologyKey"], rule["labelSelector"]["matchLabels"]) == ("kubernetes.io/hostname", labels)


def test_the_other_recorder_is_kept_off_by_a_valid_patch() -> None:
    patch = yaml.safe_load((FOLDER / "keep-off.yaml").read_text())
    pod = {"containers": [{"name": "recorder"}], **patch["spec"]["template"]["spec"]}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": pod}
    kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


def test_the_ring_is_closed() -> None:
    addresses = ["10.0.0.5", "10.0.1.7", "10.0.2.9"]
    assert [next_of(addresses, own) for own in addresses] == ["10.0.1.7", "10.0.2.9", "10.0.0.5"]
    assert next_of(["10.0.0.5"], "10.0.0.5") == "10.0.0.5"


def test_the_load_is_the_same_in_every_second() -> None:
    words = ["--threads", "1", "--hash", "20", "--memory", "64", "--packets", "500", "--own", "127.0.0.1"]
    done = subprocess.run(
        [sys.executable, str(LOAD), *words, "--report", "2", "--seconds", "6"],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 3
    for row in rows[1:]:  # the first one waits for the name
        assert row["hashed_mib"] / row["seconds"] == pytest.approx(20, rel=0.1)
        assert row["sent"] / row["seconds"] == pytest.approx(500, rel=0.1)
        assert row["received"] == pytest.approx(row["sent"], rel=0.1)
        assert 64 < row["resident_mib"] < 128
    assert rows[-1]["resident_mib"] - rows[1]["resident_mib"] <= 1, "rounded, it may change by one"
