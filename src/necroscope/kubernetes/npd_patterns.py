"""The patterns of our kernel log rules as node-problem-detector wants them: Go's RE2, of the whole line.

It only asks whether a line matches: groups are not captured, and what a look-ahead tells apart is the same
to it. Up to version 1.36 it compiles each pattern for each line, so that a pattern is to be short: rules
spell out the bus addresses of devices, here any word will do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from necroscope.signals.kernel_log_events import Rule

NAMED_GROUP = re.compile(r"\(\?P<\w+>")
LOOK_AHEAD = re.compile(r"\(\?=(?:[^()\\]|\\.)*\)")
NOT_IN_RE2 = re.compile(r"\(\?(?:[=!>(#]|<[=!]|P=)|[*+?}]\+|\\[1-9Z]")
# Wherever a line begins: the pattern is searched in the last lines of the log, joined.
LINE_BEGIN = "(?m:^)"
# A match has to reach the end of the last line.
REST_OF_LINE = ".*"
# Bus address, interface, its state (signals/kernel_log_events.py: PREFIX).
PLACE = r" \S+(?: [^\s:()]+)?(?: \([^)]*\))*: "
ANY_DRIVER = r"(?:[A-Za-z0-9][\w.-]*" + PLACE + ")?"


def any_line_pattern(rules: Sequence[Rule]) -> str:
    """What matches a line that one of the rules matches, with the prefix of its device. Raises ValueError."""
    by_drivers = groupby(sorted(rules, key=_drivers), key=_drivers)
    return f"{LINE_BEGIN}{_any(_lines(drivers, list(some)) for drivers, some in by_drivers)}{REST_OF_LINE}"


def _lines(drivers: Sequence[str], rules: Sequence[Rule]) -> str:
    return _prefix(drivers, rules) + _any(_message(rule) for rule in rules)


def as_re2(pattern: str) -> str:
    """A Python pattern for Go, without its groups. Raises ValueError where Go has no such thing."""
    made = LOOK_AHEAD.sub("", NAMED_GROUP.sub("(?:", pattern))
    if unknown := NOT_IN_RE2.search(made):
        raise ValueError(f"Go has no {unknown[0]}: {pattern}")
    return made


def _message(rule: Rule) -> str:
    pattern = rule.pattern.pattern
    if not pattern.startswith("^"):
        raise ValueError(f"{rule.id}: a pattern that does not begin with ^ would believe any speaker")
    return as_re2(pattern[1:])


def _prefix(drivers: Sequence[str], rules: Sequence[Rule]) -> str:
    """Of those drivers; where none are named, the lines of network devices may have one."""
    if drivers:
        return _any(re.escape(name) for name in drivers) + PLACE
    return ANY_DRIVER if any(rule.event == "nic-reset" for rule in rules) else ""


def _drivers(rule: Rule) -> tuple[str, ...]:
    return tuple(sorted(rule.drivers))


def _any(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns)})"
