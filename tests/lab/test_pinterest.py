"""The whole incident: it happens, its cause is found, it is mended, and the machine is as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.running.needs import lacks
from lab.running.run import run
from lab.running.scenario import all_scenarios
from lab.running.stage import Stage
from lab.training import cluster

SCENARIO = all_scenarios()["pinterest"]
LACKS = [str(one) for one in lacks(SCENARIO.needs)]
NO_RAY = cluster.why_not()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(LACKS), reason=f"this machine lacks: {', '.join(LACKS)}"),
]


def require_as_expected(stage: Stage) -> None:
    outcome = run(SCENARIO, stage)
    assert outcome.failure == ""
    assert [one for one in outcome.checks if not one.holds] == []
    assert outcome.left_behind == ()
    assert outcome.is_as_expected
    assert any("driver's line" in one for one in outcome.stand_ins)


@pytest.mark.skipif(NO_RAY is not None, reason=str(NO_RAY))
def test_from_the_quiet_node_to_the_job_that_succeeds_again(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path / "run")
    require_as_expected(stage)
    assert set(stage.not_run) == {"real-starvation"}  # no kernel was given
    job = stage.results["job"]
    assert job["before"]["last_loss"] < job["before"]["first_loss"]
    assert job["during"]["steps"] > 0  # it had worked before it failed
    assert job["during"]["failed_step_seconds"] >= job["during"]["timeout_seconds"]
    assert stage.results["timeline"]["job_failed"] is not None
    for name in ("flame.svg", "difference.svg", "report.html"):
        assert (stage.folder / name).stat().st_size < 300_000


def test_without_ray_the_network_still_tells(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path / "run", without=frozenset({"job"}))
    require_as_expected(stage)
    assert "job" not in stage.results
    assert set(stage.not_run) == {"real-starvation"}  # what was asked for is told once, by the runner
    assert stage.results["network"]["during"]["times_slower"] > 20
