"""What the last words of a failed job say: that it lost a node or the network, that it failed by itself, or
nothing. The rules are data (fleet/rules/job_failures.toml).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from necroscope.model.fleet.job import Job

NODE, OWN = "node", "own"
TRACEBACK = "Traceback (most recent call last):"
# Python writes one of these between an exception and the one that was raised because of it.
CHAINED = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
TASK = "task: "
LAST_LINES = 10  # where there is no traceback
LONGEST_QUOTE = 160


@dataclass(frozen=True, slots=True)
class FailureRule:
    """One way to tell why a job failed."""

    id: str
    says: str  # NODE or OWN
    means: str
    pattern: re.Pattern[str] | None
    error_types: frozenset[str]
    exit_codes: frozenset[int]


@dataclass(frozen=True, slots=True)
class Sign:
    """What was found, and the line it was found in."""

    rule: FailureRule
    line: str

    @property
    def is_own(self) -> bool:
        """Whether the job failed by itself."""
        return self.rule.says == OWN


@cache
def failure_rules() -> tuple[FailureRule, ...]:
    """All rules, in the order of the file."""
    tables = tomllib.loads(files("necroscope.fleet").joinpath("rules/job_failures.toml").read_text())
    return tuple(
        FailureRule(
            id=name,
            says=row["says"],
            means=row["means"],
            pattern=re.compile(row["pattern"], re.MULTILINE) if "pattern" in row else None,
            error_types=frozenset(row.get("error_types", ())),
            exit_codes=frozenset(row.get("exit_codes", ())),
        )
        for name, row in tables.items()
    )


def find_sign(job: Job) -> Sign | None:
    """What a failed job says of why it failed; None: nothing."""
    rules = failure_rules()
    lines = job.message.splitlines()
    tasks = [line for line in lines if line.startswith(TASK)]
    said = "\n".join(_last_said([line for line in lines if not line.startswith(TASK)]))
    if sign := _in_text(rules, said):
        return sign
    for rule in rules:
        if job.error_type in rule.error_types:
            return Sign(rule, job.error_type)
    for rule in rules:
        if job.exit_code in rule.exit_codes:
            return Sign(rule, f"exit code {job.exit_code}")
    return _in_text(rules, "\n".join(tasks))


def _in_text(rules: Iterable[FailureRule], text: str) -> Sign | None:
    """The sign of a lost node if there is any, else that of an own failure that comes last."""
    found = [
        (rule, match)
        for rule in rules
        if rule.pattern
        for match in [_last_match(rule.pattern, text)]
        if match
    ]
    for says in (NODE, OWN):
        matches = [(match.end(), rule, match) for rule, match in found if rule.says == says]
        if matches:
            _, rule, match = max(matches, key=lambda one: one[0])
            return Sign(rule, _line_at(text, match.end()))
    return None


def _last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    matches = [*pattern.finditer(text)]
    return matches[-1] if matches else None


def _last_said(lines: Sequence[str]) -> Sequence[str]:
    """The last traceback with all that it was raised from, to the end; else the last lines."""
    begin = None
    for place, line in enumerate(lines):
        if line.strip().endswith(TRACEBACK):
            before = [one.strip() for one in lines[max(0, place - 2) : place]]
            if begin is None or not any(one.endswith(CHAINED) for one in before):
                begin = place
    if begin is not None:
        return lines[begin:]
    is_cut = any(line.lstrip(" |").startswith('File "') for line in lines)  # a traceback without its head
    return lines if is_cut else lines[-LAST_LINES:]


def _line_at(text: str, end: int) -> str:
    """The whole line in which a match ends, shortened."""
    begin = text.rfind("\n", 0, max(end - 1, 0)) + 1
    line = text[begin:].partition("\n")[0].strip()
    return line if len(line) <= LONGEST_QUOTE else f"{line[: LONGEST_QUOTE - 3]}..."
