"""Every rule holds for its examples, and not for those that it must not hold for."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

import pytest

from necroscope.inventory.drift.fact_table import VaryingFact
from necroscope.inventory.drift.relevance import find_rule, load_rules

TABLES = tomllib.loads(files("necroscope.inventory.drift").joinpath("relevance.toml").read_text())


def holds(id: str, example: list[str]) -> bool:
    fact, *values = example
    section, _, name = fact.partition("/")
    (rule,) = [rule for rule in load_rules() if rule.id == id]
    return rule.holds(section, name, [value or None for value in values])


@pytest.mark.parametrize("id", TABLES)
def test_examples(id: str) -> None:
    table: dict[str, Any] = TABLES[id]
    assert table["match"] and table["no_match"]
    assert all(len(example) == 3 for example in (*table["match"], *table["no_match"]))
    assert [example for example in table["match"] if not holds(id, example)] == []
    assert [example for example in table["no_match"] if holds(id, example)] == []
    assert table["why"] and table["reference"] and 0 < table["weight"] <= 100


def test_the_weightiest_rule_is_found() -> None:
    def rule_of(section: str, name: str, *values: str | None) -> str:
        found = find_rule(VaryingFact(section, name, {value: 1 << n for n, value in enumerate(values)}, 3))
        return found.id if found else ""

    assert rule_of("units", "ecs.service/runs", "crash-looping", "stopped") == "agent-loops"
    assert rule_of("units", "ecs.service/runs", "running", "failed") == "agent-runs"
    assert rule_of("units", "other.service/runs", "running", "failed") == "service-runs"
    assert rule_of("units", "other.service/runs", "running", "running more") == ""
    assert rule_of("site", "anything", "a", "b") == ""


def test_sections_of_rules_have_no_globs() -> None:
    """They are looked up by section."""
    assert all("*" not in glob.partition("/")[0] for table in TABLES.values() for glob in table["facts"])
