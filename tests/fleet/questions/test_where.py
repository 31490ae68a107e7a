from __future__ import annotations

from pathlib import Path

import pytest

from lab.fleets.cells import cells_of
from lab.fleets.fleet import make_fleet
from lab.fleets.plan import Confounder, Plan, Plant
from necroscope.cli.main import main
from necroscope.fleet.engine.engine import LocalEngine
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.questions.where import Sought, ask_where, conclude_where
from necroscope.fleet.tables.read_tables import read_tables
from necroscope.model.fleet.concentration import Concentration, Standing, Where
from necroscope.signals.thresholds import load_thresholds
from tests.fleet.questions.generated import Shared, asked, made

PLAN = Plan(
    hosts=2500,
    days=3.0,
    segment_seconds=3600,
    seed=11,
    plants=(Plant("labels/kernel", "5.10.0-9", 5.0),),
    confounders=(Confounder("labels/rack-row", 0.8),),
    same_splits=("labels/hardware/stepping",),
    frailty=0.2,
    episodes_a_week=0.5,
)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return made(tmp_path_factory.mktemp("fleet"), PLAN)


@pytest.fixture(scope="module")
def where(fleet: list[str]) -> Where:
    tables = read_tables(FolderPlace(Path(fleet[1])))
    return ask_where(tables, LocalEngine(), ("nic-reset",), PLAN.begin_us, PLAN.end_us)


def rows(where: Where, label: str) -> list[Concentration]:
    return [row for row in where.concentrations if row.label == label]


def test_the_cause_comes_first(where: Where) -> None:
    first = where.concentrations[0]
    assert first.standing is Standing.CONCENTRATES
    assert {f"{first.label}={first.value}", *first.cannot_tell_apart_from} >= {
        "labels/kernel=5.10.0-9",
        "labels/hardware/stepping=with-5.10.0-9",
    }
    low, high = first.interval
    assert low < 5 < high
    assert first.q is not None
    assert first.q < 1e-6
    assert first.sentence.startswith("nic-reset concentrates in ")
    assert "as often per host and hour; " in first.sentence
    assert "cannot be told apart from " in first.sentence


def test_what_has_the_same_hosts_is_told_once(where: Where) -> None:
    named = [row for row in where.concentrations if row.value in ("5.10.0-9", "with-5.10.0-9")]
    assert len(named) == 1
    zones = rows(where, "labels/zone")
    assert len(zones) == 7, "six and unknown"
    assert not rows(where, "labels/kubernetes/topology.kubernetes.io/zone")[:-1], "the same as the zone"


def test_the_confounder_follows_and_is_not_blamed(where: Where) -> None:
    confounding = rows(where, "labels/rack-row")
    assert {row.standing for row in confounding} <= {Standing.FOLLOWS, Standing.NOT_SHOWN}
    follower = next(row for row in confounding if row.standing is Standing.FOLLOWS)
    assert follower.rate_ratio
    assert follower.rate_ratio > 1.3
    assert follower.follows[0] in ("labels/kernel", "labels/hardware/stepping")
    low, high = follower.interval_among_alike or (0.0, 0.0)
    assert low < 1 < high
    assert " only follows " in follower.sentence


def test_what_cannot_be_tested_is_not_tested(where: Where) -> None:
    labels = {row.label for row in where.concentrations}
    assert "labels/rack" not in labels, "another on every eighth host"
    assert "labels/provider" not in labels, "the same on all"
    assert "rack" in where.note
    assert where.tested == sum(row.q is not None for row in where.concentrations)


def test_unknown_is_told_and_not_blamed(where: Where) -> None:
    unknown = next(row for row in rows(where, "labels/zone") if row.value == "unknown")
    assert unknown.q is None
    assert unknown.standing is Standing.NOT_SHOWN
    assert 10 < unknown.inside.hosts < 120
    assert 10 < where.unknown_hosts < 90
    assert f"{where.unknown_hosts} of" in where.note


def test_counts_add_up(where: Where) -> None:
    for row in where.concentrations:
        if row.label == "labels/machine_image":
            assert row.inside.episodes + row.outside.episodes <= where.total.episodes
            assert row.inside.hosts + row.outside.hosts + where.unknown_hosts >= where.total.hosts
    zones = rows(where, "labels/zone")
    hours = sum(row.inside.host_hours for row in zones)
    assert hours < where.total.host_hours
    assert hours == pytest.approx(where.total.host_hours, rel=0.03)


def test_without_tables_it_is_the_same(where: Where) -> None:
    """The trials do not go through tables; it must make no difference."""
    sought = Sought(("nic-reset",), PLAN.begin_us, PLAN.end_us, load_thresholds(None))
    direct = conclude_where(cells_of(make_fleet(PLAN)), sought)
    assert direct.tested == where.tested
    assert direct.total.hosts == pytest.approx(where.total.hosts, abs=3)
    assert direct.total.episodes == pytest.approx(where.total.episodes, rel=0.01)
    told = [(row.label, row.value, row.standing) for row in where.concentrations]
    own = [(row.label, row.value, row.standing) for row in direct.concentrations]
    assert own[0] == told[0]
    assert len(set(own) ^ set(told)) <= 2, "a segment at an edge may make a difference"


def test_however_the_work_is_shared_it_gives_the_same_digits(fleet: list[str], where: Where) -> None:
    tables = read_tables(FolderPlace(Path(fleet[1])))
    for engine in (LocalEngine(), Shared()):
        assert ask_where(tables, engine, ("nic-reset",), PLAN.begin_us, PLAN.end_us) == where


def test_on_the_command_line(capsys: pytest.CaptureFixture[str], fleet: list[str]) -> None:
    code, body = asked(capsys, "where", fleet)
    assert code == 1
    assert body["concentrations"][0]["standing"] == "concentrates"
    assert body["begin"] == fleet[3]
    code = main(["fleet", "where", *fleet])
    text = capsys.readouterr().out
    assert code == 1
    assert text.startswith("nic-reset concentrates in ")
    assert "Only follows" in text
    assert "Not shown" not in text
    assert main(["fleet", "where", *fleet, "--all"]) == 1
    assert "Not shown" in capsys.readouterr().out


def test_other_kinds_have_no_cause(capsys: pytest.CaptureFixture[str], fleet: list[str]) -> None:
    code, body = asked(capsys, "where", fleet, "--kind", "oom-kill")
    assert code == 0
    assert body["total"]["episodes"] > 20
    code, body = asked(capsys, "where", fleet, "--kind", "rcu-stall")
    assert code == 0
    assert body["note"].startswith("there was no such event")
    assert main(["fleet", "where", *fleet, "--kind", "rcu-stall"]) == 0
    assert capsys.readouterr().out.startswith("No rcu-stall in 2,")


def test_by_some_facts_only(capsys: pytest.CaptureFixture[str], fleet: list[str]) -> None:
    code, body = asked(capsys, "where", fleet, "--by", "kernel", "--by", "nics/ens5/driver-version")
    assert code == 1
    assert {row["label"] for row in body["concentrations"]} == {"labels/kernel", "nics/ens5/driver-version"}
    assert main(["fleet", "where", *fleet, "--by", "labels/rack"]) == 0
    assert main(["fleet", "where", *fleet, "--by", "no/such"]) == 2
    assert main(["fleet", "where", "--fleet", fleet[1], "-b", "2020-01-01", "-e", "2020-01-02"]) == 3


def test_it_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], fleet: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    main(["fleet", "where", *fleet, "--all"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60
    main(["fleet", "next", *fleet])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60
    main(["fleet", "fixed", *fleet, "--label", "zone=us-east-1a", "--at", "2026-11-17T12:00Z"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60
