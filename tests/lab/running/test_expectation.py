"""Rows of an expect.toml against results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.running.expectation import (
    NOT_THERE,
    Expectation,
    ExpectationError,
    check,
    find,
    read_expectations,
)

RESULTS: dict[str, Any] = {
    "core": 1,
    "text": "core 1 is full",
    "links": [{"id": "a", "ratio": 0.5}, {"id": "b", "ratio": 0.9}],
    "nothing": None,
    "none": [],
    "groups": [{"rows": [{"id": "a"}]}, {"rows": []}],
    "holes": [{"rows": [{"id": "a"}, {}]}],
    "empty": [{"rows": []}],
}


@pytest.mark.parametrize(
    ("result", "comparison", "wanted", "holds"),
    [
        ("core", "equals", 1, True),
        ("core", "equals", 2, False),
        ("nothing", "equals", None, True),
        ("core", "one_of", [1, 2], True),
        ("core", "one_of", [2, 3], False),
        ("text", "contains", "core {core}", True),
        ("text", "contains", "core {links.0.id}", False),
        ("links.*.id", "contains", "b", True),
        ("links.*.id", "contains", "c", False),
        ("links.*.id", "equals", ["a", "b"], True),
        ("links.*.id", "lacks", "c", True),
        ("links.*.id", "lacks", "a", False),
        ("links.1.ratio", "at_least", 0.9, True),
        ("links.1.ratio", "at_least", 0.91, False),
        ("links.0.ratio", "at_most", "{links.1.ratio}", True),
        ("links.1.ratio", "at_most", "{links.0.ratio}", False),
        ("links.2.ratio", "at_least", 0, False),
        ("absent", "lacks", "anything", False),
        ("links.*.absent", "lacks", "anything", False),
        ("none.*.id", "lacks", "a", False),
        ("none", "lacks", "a", False),
        ("none.*.id", "equals", [], True),
        ("empty.*.rows.*.id", "lacks", "a", False),
        ("groups.*.rows.*.id", "lacks", "a", False),
        ("groups.*.rows.*.id", "lacks", "b", True),
        ("groups.*.rows.*.id", "contains", "a", True),
        ("holes.*.rows.*.id", "lacks", "b", False),
        ("text.*", "contains", "c", False),
        ("text", "lacks", "core {absent}", False),
        ("text", "lacks", "core {links.0.id}", True),
        ("nothing", "at_least", 0, False),
        ("core", "contains", "1", False),
    ],
)
def test_each_comparison(result: str, comparison: str, wanted: Any, holds: bool) -> None:
    assert check(Expectation("so", result, comparison, wanted), RESULTS).holds is holds


def test_what_is_not_there_never_holds_even_where_nothing_is_wanted() -> None:
    assert find("a.b", RESULTS) == NOT_THERE
    assert not check(Expectation("so", "a.b", "equals", NOT_THERE), RESULTS).holds
    assert not check(Expectation("so", "text", "equals", "{absent}"), RESULTS).holds


@pytest.mark.parametrize(
    "row",
    [
        'that = "x"\nresult = "y"',
        'that = "x"\nequals = 1',
        'that = "x"\nresult = "y"\nequals = 1\nat_most = 2',
        'that = "x"\nresult = "y"\nequal = 1',
    ],
)
def test_a_row_that_says_nothing_or_too_much_is_refused(tmp_path: Path, row: str) -> None:
    path = tmp_path / "expect.toml"
    path.write_text(f"[[expect]]\n{row}\n")
    with pytest.raises(ExpectationError, match=r"expect.toml"):
        read_expectations(path)
