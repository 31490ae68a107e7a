"""The rule by which a sample counts as idle (rules/idle.toml)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class IdleRule:
    """Functions in which a core waits for work, and those that an interrupt or softirq runs."""

    idle: tuple[str, ...]
    interrupt: tuple[str, ...]


@cache
def idle_rule() -> IdleRule:
    """The rule as it is shipped."""
    tables = tomllib.loads(files("necroscope.profiles").joinpath("rules/idle.toml").read_text())
    return IdleRule(tuple(tables["idle"]), tuple(tables["interrupt"]))
