"""Placeholders of the rule files are filled in, and a mistyped one is not shipped."""

from __future__ import annotations

import pytest

from necroscope.exporter.rule_files import fill
from necroscope.signals.thresholds import default_thresholds

LEAK = default_thresholds()["wall.leak_per_minute"].value


def test_words_and_thresholds_are_filled_in() -> None:
    assert fill("<docs>#x > <wall.leak_per_minute>", {"docs": "https://d"}) == f"https://d#x > {LEAK:g}"


@pytest.mark.parametrize("factor", ["60", "0.5"])
def test_a_string_of_nothing_but_a_number_becomes_one(factor: str) -> None:
    for times in (f"{factor} * ", f"{factor}*"):
        filled = fill(f'{{"value": "{times}<wall.leak_per_minute>"}}', {})
        assert filled == f'{{"value": {float(factor) * LEAK:g}}}'


@pytest.mark.parametrize(
    "name", ["nod", "threshold", "softirq_starved.delay", "wall.Leak", "zombie-memory-cgroups.warnings"]
)
def test_an_unknown_placeholder_is_refused(name: str) -> None:
    for text in (f"see <{name}>", f'{{"value": "2 * <{name}>"}}'):
        with pytest.raises(ValueError, match=f"unknown placeholders: {name}$"):
            fill(text, {"node": "n"})


def test_groups_of_regular_expressions_and_comparisons_stay() -> None:
    text = r'/instance="(?<value>[^"]+)"(?P<text>x)/ a < b and c > d, <= and >='
    assert fill(text, {}) == text
