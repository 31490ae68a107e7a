from __future__ import annotations

import pytest

from necroscope.cli.report.blocks import Block, Bullets, Code, Figure, Paragraph, Report, Section, Table
from necroscope.cli.report.markdown import escape, to_markdown
from necroscope.cli.screen import Screen

LONG = "a cause that takes more than one line of a narrow terminal to be told in full, with its numbers"


def markdown(*blocks: Block, width: int = 60) -> str:
    report = Report("Incident on node", "node", "b", "e", "v", (Section("s", "Section", blocks),))
    return to_markdown(report, Screen(width=width))


def test_tables_that_fit_are_tables_and_others_are_lists() -> None:
    columns = ("evidence", "value", "read from")
    assert "| zombies | 12 | /proc |" in markdown(Table(columns, (("zombies", "12", "/proc"),)))
    wide = markdown(Table(columns, (("zombies", LONG, "/proc"),)))
    assert "- **zombies**: a cause" in wide and "read from /proc" in " ".join(wide.split())
    assert "|" not in wide
    counted = " ".join(markdown(Table(("who", "zombies"), ((LONG, "12"),))).split())
    assert f"- **{LONG}**: zombies 12" in counted


def test_all_but_commands_fits_the_terminal() -> None:
    command = "systemctl " + "x" * 100
    text = markdown(
        Paragraph(LONG),
        Bullets((LONG,)),
        Table(("a", "b"), ((LONG, LONG),)),
        Figure(LONG, "<svg/>", "100.0% " + "f" * 90),
        Code(command),
    )
    assert [line for line in text.splitlines() if len(line) > 60] == [command]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a*b_c", r"a\*b_c"),
        ("_all_", r"\_all\_"),
        ("<script>", r"\<script\>"),
        ("[x](http://y)", r"\[x\](http\://y)"),
        ("see www.y.z", r"see www\.y.z"),
        ("@all getty@tty1", "@&#8203;all getty@tty1"),
        ("a|b", r"a\|b"),
        ("&lt;", r"\&lt;"),
        ("a & b", "a & b"),
        ("a\nb\x1b", "a b\\\\x1b"),
    ],
)
def test_words_of_the_machine_are_not_markup(text: str, shown: str) -> None:
    assert escape(text) == shown


def test_a_paragraph_is_no_list_and_code_cannot_be_left() -> None:
    assert "1\\. first" in markdown(Paragraph("1. first"))
    assert "\\- first" in markdown(Paragraph("- first"))
    assert "````text\n```\nout\n````" in markdown(Code("```\nout"))
