"""The fast scenarios come out as expected, and leave the machine as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.running.needs import lacks
from lab.running.outcome_text import outcome_text
from lab.running.run import run
from lab.running.scenario import Scenario, all_scenarios
from lab.running.stage import Stage

CHECKOUT = Path(__file__).parents[2]
# Played there, because there is more to ask of what they leave, or because they are made shorter.
PLAYED_ELSEWHERE = {
    "kernels": "tests/lab/test_kernels_scenario.py",
    "pinterest": "tests/lab/test_pinterest.py",
    "soak": "tests/lab/test_soak.py",
    "starved-core": "tests/real/test_diagnose.py",
    "two-zones": "tests/lab/test_two_zones.py",
}
# The other counter-scenarios take four minutes: `make lab-all` plays them.
HERE = {id: one for id, one in all_scenarios().items() if one.is_fast and id not in PLAYED_ELSEWHERE}


def marks(scenario: Scenario) -> list[pytest.MarkDecorator]:
    """What the machine lacks is said."""
    missing = "; ".join(map(str, lacks(scenario.needs)))
    return [pytest.mark.skipif(bool(missing), reason=missing)]


@pytest.mark.parametrize("scenario", [pytest.param(one, marks=marks(one), id=id) for id, one in HERE.items()])
def test_a_scenario_comes_out_as_expected(scenario: Scenario, tmp_path: Path) -> None:
    outcome = run(scenario, Stage(folder=tmp_path / "run"))
    assert outcome.is_as_expected, outcome_text(outcome)


@pytest.mark.parametrize(("id", "place"), PLAYED_ELSEWHERE.items())
def test_a_scenario_that_is_not_played_here_is_played_there(id: str, place: str) -> None:
    assert f'all_scenarios()["{id}"]' in (CHECKOUT / place).read_text()
