"""Whether causes are found: 60 fleets with one, 60 with something that goes along with it, 60 with none.

Of 5,000 hosts and 7 days each. Causes are of every kind, ratios from 3 to 6, hosts differ more or less, and
every fleet has another seed. Most do not go through tables: test_where.py shows that it makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.fleets.plan import Confounder, Plan, Plant
from lab.fleets.trials import (
    Outcome,
    ask,
    confounded_plans,
    healthy_plans,
    names_of,
    planted_plans,
    try_all,
)
from necroscope.model.fleet.concentration import Standing
from tests.fleet.questions.generated import asked, made

pytestmark = pytest.mark.servers

FLEETS = 60
FRAILTIES = (0.05, 0.2, 0.05, 0.0, 0.1)
RATIOS = (3.0, 4.0, 5.0, 6.0, 3.5)


def varied(plans: Iterator[Plan]) -> Iterator[Plan]:
    """Other ratios and frailties than those that the trials were made with."""
    for number, plan in enumerate(plans):
        ratio = RATIOS[(number + number // len(RATIOS)) % len(RATIOS)]
        plants = tuple(replace(plant, ratio=ratio) for plant in plan.plants)
        yield replace(plan, plants=plants, frailty=FRAILTIES[number % len(FRAILTIES)])


def told(what: str, outcomes: list[Outcome]) -> str:
    count = {name: sum(bool(getattr(one, name)) for one in outcomes) for name in Outcome.__slots__}
    return f"{what}: {count}"


def test_causes_are_named_first() -> None:
    outcomes = try_all(varied(planted_plans(FLEETS, Plan(seed=501))))
    assert sum(one.is_first for one in outcomes) >= 50, told("planted", outcomes)
    assert sum(one.false > 0 for one in outcomes) <= 5, told("planted", outcomes)


def test_confounders_are_exposed() -> None:
    outcomes = try_all(varied(confounded_plans(FLEETS, Plan(seed=901))))
    assert sum(one.is_first for one in outcomes) >= 50, told("confounded", outcomes)
    assert sum(one.is_exposed and not one.is_blamed for one in outcomes) >= 50, told("confounded", outcomes)
    assert sum(one.is_blamed for one in outcomes) <= 3, told("confounded", outcomes)


def test_healthy_fleets_have_no_alarm() -> None:
    outcomes = try_all(varied(healthy_plans(FLEETS, Plan(seed=1301))))
    assert sum(one.false > 0 for one in outcomes) <= 3, told("healthy", outcomes)


def test_two_causes_at_once_are_both_named() -> None:
    plants = (
        Plant("labels/kernel", "5.10.0-9", 4.0),
        Plant("units/telemetry-agent.service/enabled", "enabled", 3.0),
    )
    both = 0
    for seed in range(10):
        where = ask(Plan(seed=3100 + seed, plants=plants))
        found = [names_of(row) for row in where.concentrations if row.standing is Standing.CONCENTRATES]
        both += all(any(f"{one.fact}={one.value}" in names for names in found) for one in plants)
    assert both >= 8


ON_THE_COMMAND_LINE = {
    "cause": Plan(seed=31, plants=(Plant("labels/instance_type", "g5.48xlarge", 4.0),)),
    "confounder": Plan(
        seed=32,
        plants=(Plant("units/ecs.service/enabled", "enabled", 4.0),),
        confounders=(Confounder("labels/zone", 0.8),),
    ),
    "none": Plan(seed=33),
}


@pytest.mark.parametrize("case", ON_THE_COMMAND_LINE)
def test_through_tables_and_the_command_line(
    case: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = replace(ON_THE_COMMAND_LINE[case], segment_seconds=3600)
    code, body = asked(capsys, "where", made(tmp_path, plan))
    assert code == int(case != "none")
    if case == "none":
        return
    first = body["concentrations"][0]
    plant = plan.plants[0]
    assert (first["label"], first["value"], first["standing"]) == (plant.fact, plant.value, "concentrates")
    by_zone = {row["standing"] for row in body["concentrations"] if row["label"] == "labels/zone"}
    assert "concentrates" not in by_zone
    if case == "confounder":
        assert "follows" in by_zone
