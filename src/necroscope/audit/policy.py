"""Which units a fleet's owner allows, forbids, or wants to be asked about.

others = "report"                 # every other enabled service is a finding; the default is "judge"

[allow]
"ecs.service" = "hosts of the ECS cluster boot this image"
"snapd*" = { reason = "until the team has moved off", until = 2027-03-31 }

[forbid]
"cups*" = "no printers here"
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from necroscope.errors import ConfigError

TABLES = ("allow", "forbid", "others")
OTHERS = ("judge", "report")


@dataclass(frozen=True, slots=True)
class Rule:
    """What is said about the units of a pattern, and until when."""

    pattern: str
    reason: str
    until: datetime.date | None = None

    def matches(self, unit: str, today: datetime.date) -> bool:
        """Whether it says something about this unit today."""
        return fnmatchcase(unit, self.pattern) and (self.until is None or today <= self.until)


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules in force. An empty policy changes nothing."""

    allow: tuple[Rule, ...] = ()
    forbid: tuple[Rule, ...] = ()
    reports_others: bool = False


def read_policy(path: Path) -> Policy:
    """The policy in a TOML file. Raises ConfigError with the place of what cannot be understood."""
    try:
        document = tomllib.loads(path.read_text())  # waits for who writes, where it is a pipe
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", hint="--policy names a TOML file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint="it must be a TOML file; see docs/audit.md") from error
    for name in document:
        if name not in TABLES:
            raise ConfigError(f"{path}: unknown key '{name}'", hint=f"known are {', '.join(TABLES)}")
    others = document.get("others", OTHERS[0])
    if others not in OTHERS:
        raise ConfigError(f"{path}: others = {others!r} is none of {', '.join(OTHERS)}")
    return Policy(_rules(path, document, "allow"), _rules(path, document, "forbid"), others == "report")


def _rules(path: Path, document: Mapping[str, Any], table: str) -> tuple[Rule, ...]:
    rows = document.get(table, {})
    if not isinstance(rows, dict):
        raise ConfigError(f"{path}: {table} is not a table")
    return tuple(_rule(f"{path}: {table}.{pattern!r}", pattern, value) for pattern, value in rows.items())


def _rule(where: str, pattern: str, value: Any) -> Rule:
    row = value if isinstance(value, dict) else {"reason": value}
    if unknown := set(row) - {"reason", "until"}:
        raise ConfigError(f"{where}: unknown key '{min(unknown)}'", hint="known are reason, until")
    reason, until = row.get("reason"), row.get("until")
    if not isinstance(reason, str) or not reason.strip():
        raise ConfigError(f"{where} has no reason", hint=f'write one: "{pattern}" = "why"')
    if until is not None and (not isinstance(until, datetime.date) or isinstance(until, datetime.datetime)):
        raise ConfigError(f"{where}: until = {until!r} is not a date", hint="write it as 2027-03-31")
    return Rule(pattern, reason.strip(), until)
