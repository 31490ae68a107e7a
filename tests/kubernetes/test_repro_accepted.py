"""A real API server takes the repro pool, beside an installation that is there already."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lab.machines.kubernetes import api_server, why_not
from tests.deploy.renderings import NEEDS_PROGRAMS, kustomize_build, overlay

pytestmark = [pytest.mark.skipif(bool(why_not()), reason=why_not()), *NEEDS_PROGRAMS]

FOLDER = Path(__file__).parents[2] / "deploy/kubernetes/repro"
STRATEGIC = "application/strategic-merge-patch+json"
DAEMON_SETS = "/apis/apps/v1/namespaces/necroscope/daemonsets"


def test_the_pool_is_accepted_and_the_other_recorder_kept_off(tmp_path: Path) -> None:
    with api_server(tmp_path) as cluster:
        cluster.apply(overlay("perf").values())
        cluster.apply(kustomize_build(FOLDER).values())
        found = {row["metadata"]["name"] for row in cluster.ask("GET", DAEMON_SETS)[1]["items"]}
        assert found == {"necroscope", "necroscope-repro"}

        patch = yaml.safe_load((FOLDER / "keep-off.yaml").read_text())
        path = f"{DAEMON_SETS}/necroscope?fieldValidation=Strict"
        status, answer = cluster.ask("PATCH", path, patch, content_type=STRATEGIC)
        assert status == 200, answer
        pod = answer["spec"]["template"]["spec"]
        assert pod["affinity"] and pod["containers"], "added to what was there"

        cluster.add_node("node-a", **{"necroscope.dev/pool": "repro"})
        taint = {"spec": {"taints": [{"key": "necroscope.dev/repro", "effect": "NoSchedule"}]}}
        assert cluster.ask("PATCH", "/api/v1/nodes/node-a", taint, content_type=STRATEGIC)[0] == 200
        assert not cluster.warnings
