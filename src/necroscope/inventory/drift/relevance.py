"""Which differences are known to matter: the rules of relevance.toml."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from importlib.resources import files
from typing import Any

from necroscope.findings.agents import agent_rules
from necroscope.inventory.drift.fact_table import VaryingFact


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of difference that matters: why, how much, and who says so."""

    id: str
    sections: frozenset[str]
    facts: re.Pattern[str]
    leaves_out: re.Pattern[str] | None
    only_agents: bool
    one_of: re.Pattern[str] | None
    weight: float
    why: str
    reference: str

    def holds(self, section: str, name: str, values: Iterable[str | None]) -> bool:
        """Whether it speaks of a fact that has these values on some hosts each."""
        fact = f"{section}/{name.replace('/', '.') if section == 'sysctls' else name}"
        if not self.facts.match(fact) or (self.leaves_out and self.leaves_out.match(fact)):
            return False
        if self.only_agents and not _agent_units().match(name.partition("/")[0]):
            return False
        if self.one_of is None:
            return True
        of_them = [bool(self.one_of.match(value or "")) for value in values]
        return any(of_them) and not all(of_them)


@cache
def load_rules() -> tuple[Rule, ...]:
    """All rules, the weightiest first."""
    tables = tomllib.loads(files("necroscope.inventory.drift").joinpath("relevance.toml").read_text())
    return tuple(sorted((_rule(id, table) for id, table in tables.items()), key=lambda rule: -rule.weight))


def find_rule(fact: VaryingFact) -> Rule | None:
    """The weightiest rule that knows a difference."""
    rules = _rules_by_section()
    for rule in rules.get(fact.section, ()):
        if rule.holds(fact.section, fact.name, fact.values):
            return rule
    return None


@cache
def _rules_by_section() -> dict[str, list[Rule]]:
    by_section: dict[str, list[Rule]] = defaultdict(list)
    for rule in load_rules():
        for section in rule.sections:
            by_section[section].append(rule)
    return dict(by_section)


def _rule(id: str, table: dict[str, Any]) -> Rule:
    return Rule(
        id=id,
        sections=frozenset(glob.partition("/")[0] for glob in table["facts"]),
        facts=_globs(table["facts"]),
        leaves_out=_globs(table["not"]) if "not" in table else None,
        only_agents=bool(table.get("agents")),
        one_of=_globs(table["one_of"]) if "one_of" in table else None,
        weight=float(table["weight"]),
        why=table["why"],
        reference=table["reference"],
    )


@cache
def _agent_units() -> re.Pattern[str]:
    """The names that units of known agents have; a snapshot does not tell what a unit executes."""
    return _globs([glob for rule in agent_rules() for glob in rule.units])


def _globs(globs: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, globs)))
