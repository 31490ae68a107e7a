from __future__ import annotations

import json
import unicodedata

import pytest

from necroscope.model.visible_text import LINES, escaped_json, visible_json, visible_text

HOSTILE = [
    "\x1b[2J",
    "\x00",
    "\r",
    "\b\f",
    "\x7f",
    "\x85",
    "\u202eabc",
    "\u2066",
    "\u061c",
    "\ufeff",
    "a\u2028b",
    "\u200b",  # zero width space
    "\xad",  # soft hyphen
    "\U000e0041",  # a tag: letters that nobody sees
    "\ufe0f",
    "\u3164",  # a letter that is a blank
    "\xa0",
]
HARMLESS = [
    "",
    "tcp_sendmsg",
    "two\nlines\tand a tab",
    'quote " and \\ backslash',
    "größe",
    "漢字",
    "😀",
    "\\u001b",
    "\\\\x1b",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_cannot_be_seen_is_written_out(text: str) -> None:
    shown = visible_text(text, LINES)
    assert shown.isprintable() and "\\" in shown
    for ascii_only in (True, False):
        document = json.dumps({"name": text}, ensure_ascii=ascii_only).encode()
        assert json.loads(visible_json(document)) == {"name": shown}


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_stays(text: str) -> None:
    assert visible_text(text, LINES) == text
    for ascii_only in (True, False):
        document = json.dumps({"name": text}, ensure_ascii=ascii_only).encode()
        assert json.loads(visible_json(document)) == {"name": text}


@pytest.mark.parametrize("text", [*HOSTILE, *HARMLESS, "a\udc80b"])
def test_json_can_be_shown_and_says_the_same(text: str) -> None:
    for ascii_only in (True, False):
        shown = escaped_json(json.dumps({"name": text}, indent=1, ensure_ascii=ascii_only))
        assert visible_text(shown, "\n") == shown and json.loads(shown) == {"name": text}


def test_lines_are_kept_only_on_request() -> None:
    assert visible_text("a\nb\tc") == "a\\x0ab\\x09c"
    assert visible_text("a\nb\x1b", LINES) == "a\nb\\x1b"


def test_visible_text_stays_as_it_is() -> None:
    once = visible_text("\x1b\u202e\n\U000e0041")
    assert once == "\\x1b\\u202e\\x0a\\U000e0041" and visible_text(once) == once


def test_no_control_format_or_surrogate_character_is_left() -> None:
    every = (chr(code) for code in range(0x110000))
    unseen = "".join(c for c in every if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"))
    assert len(unseen) > 2000 and visible_text(unseen).isascii()


def test_a_name_that_is_no_text_becomes_one() -> None:
    document = json.dumps("a\udc80b", ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert json.loads(visible_json(document)) == visible_text("a\udc80b") == "a\\udc80b"
