from __future__ import annotations

import pytest

from necroscope.cli.doctor import value_text
from necroscope.cli.screen import Screen
from necroscope.model.finding import Evidence


@pytest.mark.parametrize("width", [40, 60, 80])
def test_nothing_is_wider_than_the_screen(width: int) -> None:
    rows = [
        ("name", "words " * 40),
        ("a very long name of a thing that does not fit beside anything", "x" * 200),
    ]
    lines = Screen(width).table(rows).splitlines()
    assert max(map(len, lines)) <= width


def test_colour_only_where_wanted() -> None:
    assert Screen(colour=False).paint("bad", "critical") == "bad"
    assert Screen(colour=True).paint("bad", "critical") == "\033[1;31mbad\033[0m"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.974, "ratio", "97%"),
        (68680, "cgroups", "68,680 cgroups"),
        (1, "lines", "1 line"),
        (3 << 30, "bytes", "3.0 GiB"),
        (512, "bytes", "512.0 B"),
        (5.0, "seconds", "5.0 seconds"),
        ("37", "", "37"),
        ("2026-04-15T10:02:11Z", "UTC", "2026-04-15T10:02:11Z"),
    ],
)
def test_values_as_a_person_writes_them(value: float | str, unit: str, text: str) -> None:
    assert value_text(Evidence("n", value, unit, "s")) == text


def test_nobody_else_steers_the_terminal() -> None:
    screen = Screen(60)
    hostile = "\x1b[2J\x07own\x9b"
    for text in (screen.wrap(hostile), screen.table([(hostile, hostile)]), screen.page(hostile)):
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "\\x1b[2J" in text
