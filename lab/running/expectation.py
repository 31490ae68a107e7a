"""What the results of a scenario must be, as rows of its expect.toml.

    [[expect]]
    that = "the culprit is what walked the zombies"
    result = "diagnosis.culprit.process"
    equals = "kubelet"

`result` is a way into the results: names and numbers joined by dots, and `*` for each of a list. A text may
name another result in braces: "core {made.core}". What is compared is one of `equals`, `one_of`, `contains`
(a part of a text, or one of a list), `lacks`, `at_least` and `at_most`. An empty list lacks everything and
proves nothing: of one, `lacks` does not hold.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Results = dict[str, Any]  # what JSON can hold
NAMED = re.compile(r"\{([a-z_][\w.*]*)\}")
NOT_THERE = "(no such result)"


def _flat(seen: Any) -> list[Any]:
    """All that is in a list, and in the lists in it."""
    return [inner for one in seen for inner in _flat(one)] if isinstance(seen, list) else [seen]


def _has(seen: Any, wanted: Any) -> bool:
    """Whether it is a part of a text or of what a list holds, or a name in a table."""
    return wanted in seen or (isinstance(seen, list) and wanted in _flat(seen))


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "equals": lambda seen, wanted: bool(seen == wanted),
    "one_of": lambda seen, wanted: seen in wanted,
    "contains": _has,
    "lacks": lambda seen, wanted: _flat(seen) != [] and not _has(seen, wanted),
    "at_least": lambda seen, wanted: bool(seen >= wanted),
    "at_most": lambda seen, wanted: bool(seen <= wanted),
}


class ExpectationError(ValueError):
    """A row that says nothing, or too much."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that must be so."""

    that: str
    result: str
    comparison: str
    wanted: Any
    part: str = ""  # of the scenario: not asked for where that part was not run


@dataclass(frozen=True, slots=True)
class Check:
    """What came of an expectation."""

    that: str
    holds: bool
    seen: Any
    wanted: str


def read_expectations(path: Path) -> tuple[Expectation, ...]:
    """The rows of a file, in their order."""
    return tuple(_expectation(row, path) for row in tomllib.loads(path.read_text())["expect"])


def check(expectation: Expectation, results: Results) -> Check:
    """Compare; what is not there, or is of another kind, does not hold."""
    seen = find(expectation.result, results)
    wanted = _filled(expectation.wanted, results)
    try:
        holds = _is_there(seen, wanted) and COMPARE[expectation.comparison](seen, wanted)
    except TypeError:
        holds = False
    words = f"{expectation.comparison.replace('_', ' ')} {wanted!r}"
    return Check(expectation.that, holds, seen, words)


def find(way: str, results: Any) -> Any:
    """What lies at the end of a way."""
    here, _, rest = way.partition(".")
    if here == "*" and isinstance(results, list):
        return [find(rest, one) if rest else one for one in results]
    if isinstance(results, Mapping) and here in results:
        found = results[here]
    elif isinstance(results, list) and here.isdigit() and int(here) < len(results):
        found = results[int(here)]
    else:
        return NOT_THERE
    return find(rest, found) if rest else found


def _is_there(seen: Any, wanted: Any) -> bool:
    """Whether there is something to compare: what is not there lacks everything, and proves nothing."""
    return NOT_THERE not in _flat(seen) and NOT_THERE not in str(wanted)


def _expectation(row: Mapping[str, Any], path: Path) -> Expectation:
    comparisons = [name for name in row if name in COMPARE]
    unknown = set(row) - {"that", "result", "part", *COMPARE}
    if len(comparisons) != 1 or unknown or not {"that", "result"} <= set(row):
        raise ExpectationError(f"{path}: {dict(row)}: needs that, result and one of {', '.join(COMPARE)}")
    (comparison,) = comparisons
    return Expectation(row["that"], row["result"], comparison, row[comparison], row.get("part", ""))


def _filled(wanted: Any, results: Results) -> Any:
    """The texts in what is wanted, with other results put in where they are named."""
    if isinstance(wanted, str):
        if whole := NAMED.fullmatch(wanted):
            return find(whole[1], results)
        return NAMED.sub(lambda named: str(find(named[1], results)), wanted)
    return [_filled(one, results) for one in wanted] if isinstance(wanted, list) else wanted
