"""Every scenario is whole, and is told about."""

from __future__ import annotations

import ast

import pytest

from lab.running.needs import NEEDS
from lab.running.scenario import SCENARIOS, Scenario, all_scenarios
from lab.running.scenario_table import PAGE, replace_table

ALL = all_scenarios()
each = pytest.mark.parametrize("scenario", ALL.values(), ids=ALL)


@each
def test_a_scenario_has_all_of_its_files(scenario: Scenario) -> None:
    for name in ("README.md", "scenario.toml", "make.py", "expect.toml"):
        assert (scenario.folder / name).is_file(), name
    tree = ast.parse((scenario.folder / "make.py").read_text())
    assert "play" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@each
def test_a_scenario_says_what_it_is_and_what_is_not_real(scenario: Scenario) -> None:
    text = (scenario.folder / "README.md").read_text()
    assert text.startswith("# ") and scenario.title
    for word in ("real", "stand-in", "need"):
        assert word in text.lower(), word


@each
def test_a_scenario_needs_and_expects_what_is_known(scenario: Scenario) -> None:
    assert set(scenario.needs) <= set(NEEDS)
    assert scenario.seconds > 0
    assert scenario.expectations
    assert {one.part for one in scenario.expectations} <= {"", *scenario.parts}


def test_no_folder_is_half_a_scenario() -> None:
    folders = {path.parent for path in SCENARIOS.glob("*/*.py")}
    assert {folder.name.replace("_", "-") for folder in folders} == set(ALL)


def test_the_table_in_the_manual_is_that_of_the_scenarios() -> None:
    page = PAGE.read_text()
    assert page == replace_table(page, ALL), "bring it up to date: python -m lab document"
