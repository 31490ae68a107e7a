from __future__ import annotations

import json

import pytest

from necroscope.server.visible_text import visible_json, visible_text

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
    shown = visible_text(text)
    assert shown.isprintable() and "\\" in shown
    for ascii_only in (True, False):
        document = json.dumps({"name": text}, ensure_ascii=ascii_only).encode()
        assert json.loads(visible_json(document)) == {"name": shown}


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_stays(text: str) -> None:
    assert visible_text(text) == text
    for ascii_only in (True, False):
        document = json.dumps({"name": text}, ensure_ascii=ascii_only).encode()
        assert json.loads(visible_json(document)) == {"name": text}


def test_a_name_that_is_no_text_becomes_one() -> None:
    document = json.dumps("a\udc80b", ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert json.loads(visible_json(document)) == visible_text("a\udc80b") == "a\\udc80b"
