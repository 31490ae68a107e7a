"""Which kernel log rules go under which reason of node-problem-detector (rules/npd.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from necroscope.signals.kernel_log_events import Rule, kernel_log_rules


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of an event, and the rules whose lines give it."""

    name: str
    means: str
    rules: tuple[Rule, ...]


@cache
def npd_reasons() -> tuple[Reason, ...]:
    """All reasons, in the order of the file; each rule is under one of them, or is left out on purpose."""
    tables = _tables()
    owners = {rule.id: _owner(rule, tables) for rule in kernel_log_rules()}
    return tuple(
        Reason(name, table["means"], tuple(rule for rule in kernel_log_rules() if owners[rule.id] == name))
        for name, table in tables.items()
        if name != "left_out"
    )


def _owner(rule: Rule, tables: Mapping[str, Any]) -> str:
    if any(_fits(rule, row) for row in tables["left_out"]):
        return ""
    fitting = (name for name, table in tables.items() if name != "left_out" and _fits(rule, table))
    if (name := next(fitting, "")) == "":
        raise ValueError(f"{rule.id}: rules/npd.toml has no reason for it, nor why it is left out")
    return name


def _fits(rule: Rule, row: Mapping[str, str]) -> bool:
    known = {"rule": rule.id, "event": rule.event, "phase": rule.phase, "cause": rule.cause}
    return all(known[name] == row[name] for name in known if name in row)


def _tables() -> dict[str, Any]:
    return tomllib.loads(files("necroscope.kubernetes").joinpath("rules/npd.toml").read_text())
