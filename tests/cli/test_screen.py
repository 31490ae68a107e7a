from __future__ import annotations

from importlib import import_module

import pytest

from necroscope.cli.main import VERBS
from necroscope.cli.screen import Screen
from necroscope.model.finding import Evidence
from necroscope.model.value_text import value_text


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
        (512, "bytes", "512 bytes"),
        (5.0, "seconds", "5.0 seconds"),
        ("37", "", "37"),
        ("2026-04-15T10:02:11Z", "UTC", "2026-04-15T10:02:11Z"),
    ],
)
def test_values_as_a_person_writes_them(value: float | str, unit: str, text: str) -> None:
    assert value_text(Evidence("n", value, unit, "s")) == text


RECORD = """Record this node.

necroscope record                        until Ctrl-C or SIGTERM; what it has is kept
necroscope record --listen 127.0.0.1:9464
necroscope record -d 10m                 shortly

Reads    /proc/stat and so on, and on, and on, and on, and on, and on
Needs    nothing"""


@pytest.mark.parametrize("width", [60, 80, 110])
def test_examples_on_a_page_stay_lines(width: int) -> None:
    page = Screen(width).page(RECORD)
    assert max(map(len, page.splitlines())) <= width
    commands = [line.split("  ")[0] for line in page.splitlines() if line.startswith("necroscope")]
    assert commands == [
        "necroscope record",
        "necroscope record --listen 127.0.0.1:9464",
        "necroscope record -d 10m",
    ]
    assert "recorduntil" not in page
    assert " ".join(page.split()) == " ".join(RECORD.split()), "nothing is lost"
    assert "\nReads    /proc/stat" in page and "\nNeeds    nothing" in page


def test_examples_without_words_beside_them_are_not_joined() -> None:
    text = "necroscope flame --cpu 5\nnecroscope flame --against baseline"
    assert Screen(80).page(text) == text


@pytest.mark.parametrize("verb", list(VERBS))
@pytest.mark.parametrize("width", [60, 80, 110])
def test_help_has_every_example_of_a_verb(width: int, verb: str) -> None:
    module = import_module(f"necroscope.cli.{verb}{'_' if verb == 'import' else ''}")
    page = Screen(width).page((module.__doc__ or "").strip()).splitlines()
    for line in (module.__doc__ or "").splitlines():
        if line.startswith("necroscope ") and len(line.split("  ")[0]) <= width:
            command = line.split("  ")[0]
            assert any(shown == command or shown.startswith(f"{command}  ") for shown in page), command


def test_nobody_else_steers_the_terminal() -> None:
    screen = Screen(60)
    hostile = "\x1b[2J\x07own\x9b"
    for text in (screen.wrap(hostile), screen.table([(hostile, hostile)]), screen.page(hostile)):
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "\\x1b[2J" in text
