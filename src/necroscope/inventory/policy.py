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
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path
from typing import Any

from necroscope.errors import ConfigError
from necroscope.sources.plain_files import read_named

TABLES = ("allow", "forbid", "others")
OTHERS = ("judge", "report")
HINT = "--policy names a TOML file, or /dev/stdin"
# Far beyond any policy that somebody wrote. What is larger takes a parser minutes, or its stack.
MAX_BYTES = 1 << 20
MAX_LINE = 1000  # characters
MAX_DOTS = 30  # in a line: each may be another table inside the one before
MAX_PATTERNS = 1000
MAX_PATTERN = 256  # characters: systemd's names are no longer
MAX_SHOWN = 60  # characters of a wrong value


@dataclass(frozen=True, slots=True)
class Rule:
    """What is said about the units of a pattern, and until when."""

    pattern: str
    reason: str
    until: datetime.date | None = None
    _expression: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_expression", re.compile(translate(self.pattern)))

    def matches(self, unit: str, today: datetime.date) -> bool:
        """Whether it says something about this unit today."""
        if self.until is not None and today > self.until:
            return False
        return self._expression.match(unit) is not None


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules in force. An empty policy changes nothing."""

    allow: tuple[Rule, ...] = ()
    forbid: tuple[Rule, ...] = ()
    reports_others: bool = False


def read_policy(path: Path) -> Policy:
    """The policy in a TOML file. Raises ConfigError with the place of what cannot be understood."""
    document = _parsed(path, _text(path))
    for name in document:
        if name not in TABLES:
            raise ConfigError(f"{path}: unknown key {_shown(name)}", hint=f"known are {', '.join(TABLES)}")
    others = document.get("others", OTHERS[0])
    if others not in OTHERS:
        raise ConfigError(f"{path}: others = {_shown(others)} is none of {', '.join(OTHERS)}")
    return Policy(_rules(path, document, "allow"), _rules(path, document, "forbid"), others == "report")


def _text(path: Path) -> str:
    try:
        return read_named(path, MAX_BYTES).decode()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", hint=HINT) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: {error}", hint="it must be a TOML file; see docs/audit.md") from error


def _parsed(path: Path, text: str) -> Mapping[str, Any]:
    """The document, if it is one that a parser can cope with at once."""
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_LINE or line.count(".") > MAX_DOTS:
            what = f"{path}: line {number} has more than {MAX_LINE:,} characters or {MAX_DOTS} dots"
            raise ConfigError(what, hint="no pattern and no reason needs that")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}", hint="it must be a TOML file; see docs/audit.md") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: it is nested too deeply", hint="see docs/audit.md") from error


def _rules(path: Path, document: Mapping[str, Any], table: str) -> tuple[Rule, ...]:
    rows = document.get(table, {})
    if not isinstance(rows, dict):
        raise ConfigError(f"{path}: {table} is not a table")
    if len(rows) > MAX_PATTERNS:
        what = f"{path}: {table} has {len(rows):,} patterns, more than {MAX_PATTERNS:,}"
        raise ConfigError(what, hint="write patterns for many units at once: snapd*")
    return tuple(
        _rule(f"{path}: {table}.{_shown(pattern)}", pattern, value) for pattern, value in rows.items()
    )


def _rule(where: str, pattern: str, value: Any) -> Rule:
    row = value if isinstance(value, dict) else {"reason": value}
    if len(pattern) > MAX_PATTERN:
        raise ConfigError(f"{where} is longer than {MAX_PATTERN} characters", hint="no unit has such a name")
    if unknown := set(row) - {"reason", "until"}:
        raise ConfigError(f"{where}: unknown key {_shown(min(unknown))}", hint="known are reason, until")
    reason, until = row.get("reason"), row.get("until")
    if not isinstance(reason, str) or not reason.strip():
        raise ConfigError(f"{where} has no reason", hint='write one: "PATTERN" = "why"')
    if until is not None and (not isinstance(until, datetime.date) or isinstance(until, datetime.datetime)):
        raise ConfigError(f"{where}: until = {_shown(until)} is not a date", hint="write it as 2027-03-31")
    return Rule(pattern, reason.strip(), until)


def _shown(value: Any) -> str:
    """A value as Python writes it, or the beginning of that."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
