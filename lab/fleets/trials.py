"""How often `fleet where` finds what was planted, and how often it finds what was not.

python -m lab.fleets.trials            the table of docs/where.md, some minutes
python -m lab.fleets.trials --fleets 20

Each fleet has 5,000 hosts, 7 days and another seed. None goes through tables here; in tests some do.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lab.fleets.cells import cells_of
from lab.fleets.fleet import make_fleet
from lab.fleets.plan import Confounder, Plan, Plant
from necroscope.fleet.questions.where import Sought, conclude_where
from necroscope.model.fleet.concentration import Concentration, Standing, Where
from necroscope.signals.thresholds import load_thresholds

FOUND = (Standing.CONCENTRATES, Standing.SPARED)
# Values of many hosts and of few, of all kinds of facts, with what goes along with them and without.
PLANTS = (
    Plant("labels/kernel", "5.10.0-9", 4.0),
    Plant("labels/zone", "us-east-1b", 3.0),
    Plant("labels/instance_type", "g5.48xlarge", 5.0),
    Plant("labels/machine_image", "ami-0d74fc", 3.0),
    Plant("nics/ens5/driver-version", "2.8.3", 4.0),
    Plant("units/ecs.service/enabled", "enabled", 3.0),
    Plant("labels/kubernetes/node-group", "ingest", 6.0),
    Plant("labels/kernel", "5.15.0-1033-custom", 5.0, 0.1),
    Plant("labels/zone", "us-west-2c", 4.0),
    Plant("units/telemetry-agent.service/enabled", "enabled", 4.0),
    Plant("labels/hardware/bios_version", "1.2", 5.0),
    Plant("labels/team", "blue", 4.0, 0.12),
)
GRID = ((0.0, 0.1), (0.2, 0.1), (0.05, 0.05), (0.05, 0.1), (0.05, 0.3), (0.02, 0.1))  # frailty, weekly rate
CONFOUNDERS = (
    "labels/zone",
    "labels/machine_image",
    "labels/instance_type",
    "labels/rack-row",
    "labels/image",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one fleet."""

    is_found: bool  # the plant stands by itself
    is_first: bool  # and comes first
    false: int  # other values that stand by themselves
    is_exposed: bool  # the confounder was found to follow
    is_blamed: bool  # the confounder stands by itself


def ask(plan: Plan) -> Where:
    """What `fleet where` says of a fleet."""
    sought = Sought(("nic-reset",), plan.begin_us, plan.end_us, load_thresholds(None))
    return conclude_where(cells_of(make_fleet(plan)), sought)


def names_of(row: Concentration) -> set[str]:
    """The value of a row, and all that cannot be told apart from it."""
    return {f"{row.label}={row.value}", *row.cannot_tell_apart_from}


def judge(plan: Plan, where: Where) -> Outcome:
    """Compare an answer with what was planted."""
    planted = {f"{plant.fact}={plant.value}" for plant in plan.plants}
    found = [row for row in where.concentrations if row.standing in FOUND]
    right = [row for row in found if names_of(row) & planted]
    confounders = {confounder.fact for confounder in plan.confounders}
    confounding = [row for row in where.concentrations if row.label in confounders]
    return Outcome(
        is_found=bool(right),
        is_first=bool(right) and found[0] is right[0],
        false=len(found) - len(right),
        is_exposed=any(row.standing is Standing.FOLLOWS for row in confounding),
        is_blamed=any(row in found and row not in right for row in confounding),
    )


def planted_plans(fleets: int, like: Plan = Plan()) -> Iterator[Plan]:  # noqa: B008 - it is frozen
    """Fleets with one cause, of every kind in turn."""
    for number in range(fleets):
        plant = PLANTS[number % len(PLANTS)]
        yield replace(like, seed=like.seed + number, plants=(plant,))


def confounded_plans(fleets: int, like: Plan = Plan()) -> Iterator[Plan]:  # noqa: B008
    """The same with a label that goes along with the cause."""
    for number, plan in enumerate(planted_plans(fleets, like)):
        others = [fact for fact in CONFOUNDERS if fact != plan.plants[0].fact]
        yield replace(plan, confounders=(Confounder(others[number % len(others)], 0.8),))


def healthy_plans(fleets: int, like: Plan = Plan()) -> Iterator[Plan]:  # noqa: B008
    """Fleets without any cause."""
    for number in range(fleets):
        yield replace(like, seed=like.seed + number)


def try_all(plans: Iterator[Plan] | Sequence[Plan]) -> list[Outcome]:
    """What comes of each."""
    return [judge(plan, ask(plan)) for plan in plans]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m lab.fleets.trials", description=__doc__)
    parser.add_argument("--fleets", type=int, default=60)
    parser.add_argument("--seed", type=int, default=10_000)
    words = parser.parse_args()
    count = words.fleets
    print("| frailty | episodes a week | found | first | others | exposed | blamed | false alarms |")
    print("|---|---|---|---|---|---|---|---|")
    for frailty, rate in GRID:
        print(_table_row(Plan(seed=words.seed, frailty=frailty, episodes_a_week=rate), count), flush=True)


def _table_row(like: Plan, count: int) -> str:
    causes, confounded, healthy = (
        try_all(plans(count, like)) for plans in (planted_plans, confounded_plans, healthy_plans)
    )
    numbers = (
        like.frailty,
        like.episodes_a_week,
        sum(one.is_found for one in causes),
        sum(one.is_first for one in causes),
        sum(one.false for one in causes),
        sum(one.is_exposed for one in confounded),
        sum(one.is_blamed for one in confounded),
        sum(one.false > 0 for one in healthy),
    )
    return f"| {' | '.join(map(str, numbers))} |"


if __name__ == "__main__":
    main()
