"""What is behind a unit that runs on some hosts only, in either direction, and where nothing is shown."""

from __future__ import annotations

import pytest

from necroscope.model.drift import Difference, Drift, Relevance
from necroscope.model.snapshot import Snapshot
from tests.inventory.drift.conftest import DriftOf

FAILED, DONE = "failed (exit 1)", "succeeded"
Rows = dict[str, str]


def host(name: str, units: Rows, bootstrap: Rows | None = None, **sections: Rows) -> Snapshot:
    units = {f"{unit}/runs" if "/" not in unit else unit: value for unit, value in units.items()}
    return Snapshot(name, {"units": units, "bootstrap": bootstrap or {}, **sections}, {})


def summaries(drift: Drift) -> list[str]:
    return [row.summary for row in drift.differences]


def setup(outcome: str, names: str = "ecs.service") -> Rows:
    return {"node-setup.service": outcome, "node-setup.service/names": names}


@pytest.mark.parametrize("where_it_runs", ["a", "b"])
def test_the_step_that_failed_is_named_with_its_own_host(drift_of: DriftOf, where_it_runs: str) -> None:
    """The step fails on b. It may have been to start the agent, or to take it away."""
    states = {"a": "stopped", "b": "stopped", where_it_runs: "running"}
    drift = drift_of(
        host("a", {"ecs.service": states["a"]}, setup(DONE)),
        host("b", {"ecs.service": states["b"]}, setup(FAILED)),
    )
    other = "ab".replace(where_it_runs, "")
    assert summaries(drift) == [
        f"ecs.service runs on {where_it_runs} and not on {other}, "
        "because bootstrap step node-setup.service failed on b (exit 1)",
        "bootstrap step node-setup.service failed (exit 1) on b and succeeded on a",
    ]
    effect, cause = drift.differences
    assert effect.because and effect.because.is_shown and effect.because.link == "it names ecs.service"
    assert effect.because.fact == cause.lead.fact == "bootstrap/node-setup.service"
    assert cause.cause_of == ("units/ecs.service/runs",)
    assert cause.matters and effect.relevance is Relevance.KNOWN


def test_of_groups_the_group_is_named(drift_of: DriftOf) -> None:
    drift = drift_of(
        healthy=[host(f"h{n}", {"ecs.service": "stopped"}, setup(DONE)) for n in range(6)],
        failing=[host(f"f{n}", {"ecs.service": "crash-looping"}, setup(FAILED)) for n in range(6)],
    )
    assert summaries(drift) == [
        "ecs.service crash-loops in the failing group and not in the healthy one, "
        "because bootstrap step node-setup.service failed in the failing group (exit 1)",
        "bootstrap step node-setup.service failed (exit 1) in the failing group "
        "and succeeded in the healthy one",
    ]


def test_most_hosts_are_enough_for_a_cause(drift_of: DriftOf) -> None:
    def some(name: str, fails: int) -> list[Snapshot]:
        return [
            host(
                f"{name}{n}",
                {"ecs.service": "running" if n < fails else "stopped"},
                setup(FAILED if n < fails else DONE),
            )
            for n in range(10)
        ]

    drift = drift_of(healthy=some("h", 1), failing=some("f", 9))
    assert drift.differences[0].summary == (
        "ecs.service runs on 9 of 10 hosts of the failing group and on 1 of 10 of the healthy one, "
        "because bootstrap step node-setup.service failed on 9 of 10 hosts of the failing group and "
        "on 1 of 10 of the healthy one (exit 1)"
    )


def test_a_condition_and_the_step_that_names_its_file(drift_of: DriftOf) -> None:
    skipped = "skipped (ConditionPathExists=/etc/agent/token)"
    drift = drift_of(
        host("a", {"mine.service": "running"}, setup(DONE, "/etc/agent/token")),
        host("b", {"mine.service": skipped}, setup(FAILED, "/etc/agent/token")),
    )
    assert drift.differences[0].because
    assert drift.differences[0].because.link == "it names /etc/agent/token, which mine.service looks at"
    assert drift.differences[1].lead.fact == "bootstrap/node-setup.service"


def test_a_step_that_did_not_run_is_a_cause_where_it_succeeded_elsewhere(drift_of: DriftOf) -> None:
    skipped = "not run (ConditionPathExists=/etc/role)"
    drift = drift_of(
        host("a", {"ecs.service": "running"}, setup(DONE)),
        host("b", {"ecs.service": "stopped"}, setup(skipped)),
    )
    assert summaries(drift) == [
        "ecs.service runs on a and not on b, because bootstrap step node-setup.service did not run on b "
        "(ConditionPathExists=/etc/role)",
        "bootstrap step node-setup.service has not run (ConditionPathExists=/etc/role) on b "
        "and succeeded on a",
    ]
    assert drift.differences[1].matters


def test_a_step_that_ran_nowhere_is_no_cause(drift_of: DriftOf) -> None:
    drift = drift_of(
        host("a", {"ecs.service": "running"}, setup("not run")),
        host("b", {"ecs.service": "stopped"}, setup("not run (ConditionPathExists=/etc/role)")),
    )
    assert drift.differences[0].because is None


def test_a_file_that_the_unit_asks_for(drift_of: DriftOf) -> None:
    asks = {"mine.service/asks-for": "/etc/agent/environment"}
    drift = drift_of(
        host("a", {"mine.service": "running", **asks}, setup(DONE, "/etc/agent/environment")),
        host("b", {"mine.service": "stopped", **asks}, setup(FAILED, "/etc/agent/environment")),
    )
    assert drift.differences[0].because and drift.differences[0].because.is_shown


def test_a_condition_alone(drift_of: DriftOf) -> None:
    (row,) = drift_of(
        host("a", {"mine.service": "running"}),
        host("b", {"mine.service": "skipped (ConditionPathExists=/x)"}),
    ).differences
    assert row.summary == (
        "mine.service runs on a and not on b, because its condition ConditionPathExists=/x does not hold on b"
    )


def test_a_unit_that_it_needs(drift_of: DriftOf) -> None:
    effect, cause = drift_of(
        host("a", {"x.service": "running", "db.service": "running", "x.service/needs": "db.service"}),
        host("b", {"x.service": "stopped", "db.service": "failed", "x.service/needs": "db.service"}),
    ).differences
    assert effect.summary == (
        "x.service runs on a and not on b, because db.service, which it needs, failed on b"
    )
    assert cause.lead.fact == "units/db.service/runs"


def test_a_cause_never_stands_before_its_effect(drift_of: DriftOf) -> None:
    """docker is known and the other is not; and docker has a cause of its own."""
    needs = {"x.service/needs": "docker.service"}
    drift = drift_of(
        host(
            "a", {"x.service": "running", "docker.service": "running", **needs}, setup(DONE, "docker.service")
        ),
        host(
            "b",
            {"x.service": "stopped", "docker.service": "failed", **needs},
            setup(FAILED, "docker.service"),
        ),
    )
    assert [row.lead.fact for row in drift.differences] == [
        "units/x.service/runs",
        "units/docker.service/runs",
        "bootstrap/node-setup.service",
    ]


def test_masked(drift_of: DriftOf) -> None:
    (row,) = drift_of(
        host("a", {"x.service": "running", "x.service/enabled": "enabled"}),
        host("b", {"x.service": "stopped", "x.service/enabled": "masked"}),
    ).differences
    assert row.summary == "x.service runs on a and not on b, because it is masked on b"
    assert [fact.fact for fact in row.together] == ["units/x.service/enabled"]


def test_a_package_that_is_missing(drift_of: DriftOf) -> None:
    effect, cause = drift_of(
        host("a", {"x.service": "running", "x.service/package": "x-tools"}, packages={"x-tools": "1"}),
        host("b", {}, packages={}),
    ).differences
    assert effect.summary == (
        "x.service runs on a and not on b, because package x-tools is not installed on b"
    )
    assert cause.lead.fact == "packages/x-tools"


def unlinked(drift_of: DriftOf, **more: str) -> Difference:
    drift = drift_of(
        host("a", {"x.service": "running"}, {**setup(DONE, "/etc/other"), **dict.fromkeys(more, DONE)}),
        host("b", {"x.service": "stopped"}, {**setup(FAILED, "/etc/other"), **more}),
    )
    return drift.differences[0]


def test_without_a_link_it_is_not_called_the_cause(drift_of: DriftOf) -> None:
    row = unlinked(drift_of)
    assert row.summary == (
        "x.service runs on a and not on b; at the same time bootstrap step node-setup.service failed on b "
        "(exit 1); whether that is the cause is not shown"
    )
    assert row.because and not row.because.is_shown and not row.because.link


def test_of_two_failed_steps_without_a_link_none_is_named(drift_of: DriftOf) -> None:
    assert unlinked(drift_of, **{"other-step": FAILED}).because is None


def test_a_folder_of_all_units_is_no_link(drift_of: DriftOf) -> None:
    file = {"x.service/file": "/etc/systemd/system/x.service"}
    drift = drift_of(
        host("a", {"x.service": "running", **file}, setup(DONE, "/etc/systemd/system")),
        host("b", {"x.service": "stopped", **file}, setup(FAILED, "/etc/systemd/system")),
    )
    assert drift.differences[0].because and not drift.differences[0].because.is_shown


def test_a_step_that_failed_elsewhere_is_not_the_cause(drift_of: DriftOf) -> None:
    drift = drift_of(
        host("a", {"ecs.service": "running"}, setup(DONE)),
        host("b", {"ecs.service": "stopped"}, setup(FAILED)),
        host("c", {"ecs.service": "running"}, setup(FAILED)),
        host("d", {"ecs.service": "stopped"}, setup(DONE)),
    )
    assert drift.differences[0].because is None


def test_a_step_that_is_not_known_on_a_host_is_not_the_cause(drift_of: DriftOf) -> None:
    drift = drift_of(
        Snapshot("a", {"units": {"ecs.service/runs": "running"}}, {"bootstrap": "no systemd answers"}),
        host("b", {"ecs.service": "stopped"}, setup(FAILED)),
    )
    assert [row.because for row in drift.differences] == [None]
