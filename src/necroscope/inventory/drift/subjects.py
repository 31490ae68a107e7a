"""What a fact is about: several facts about one unit are one difference, and states come in kinds."""

from __future__ import annotations

import re

from necroscope.inventory.drift.fact_table import Hosts, VaryingFact

UNIT_SECTIONS = ("units", "bootstrap", "environment")
NAMES = "/names"  # of what a bootstrap step mentions

# Kinds of the values of units/UNIT/runs and bootstrap/STEP.
RUNS, LOOPS, FAILED, NOT_RUN, RESTS = "runs", "crash-loops", "failed", "not run", "rests"
CONDITION = re.compile(r"skipped \((?P<condition>\w+=[!|]*(?P<path>.*))\)")


def subject_of(section: str, name: str) -> str:
    """The same for all facts that are told together."""
    return f"unit {_owner(section, name)}" if section in UNIT_SECTIONS else f"{section}/{name}"


def unit_of(fact: VaryingFact) -> str:
    """The unit or bootstrap step that a fact is about; empty where it is about none."""
    return _owner(fact.section, fact.name) if fact.section in UNIT_SECTIONS else ""


def is_run_state(fact: VaryingFact) -> bool:
    """Whether a fact says how a unit fares."""
    return fact.section == "units" and fact.name.endswith("/runs")


def is_step(fact: VaryingFact) -> bool:
    """Whether a fact says how a bootstrap step ended."""
    return fact.section == "bootstrap" and not fact.name.endswith(NAMES)


def kind_of(value: str | None) -> str:
    """The kind of a state. A value of None is one that is not there."""
    word = (value or "").split(" ")[0].rstrip(":,").lower()
    if word in ("running", "active", "runs"):
        return RUNS
    if word in ("crash-looping", "looping"):
        return LOOPS
    if word in ("failed", "error"):
        return FAILED
    return NOT_RUN if f"{value} ".startswith("not run ") else RESTS


def of_kinds(fact: VaryingFact, *kinds: str) -> Hosts:
    """The hosts where a state is of one of some kinds."""
    together = 0
    for value, hosts in fact.values.items():
        if kind_of(value) in kinds:
            together |= hosts
    return together


def _owner(section: str, name: str) -> str:
    if section == "bootstrap":  # a step may have a slash in its name: cloud-init/modules-final
        return name.removesuffix(NAMES)
    return name.partition("/")[0]
