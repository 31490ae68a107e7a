"""Unit files are read as systemd reads them."""

from __future__ import annotations

import math
import time

import pytest

from necroscope.sources.systemd.unit_settings import (
    LARGEST_FILE_BYTES,
    LONGEST_LINE,
    decode,
    is_true,
    merge,
    parse_time_span,
    parse_unit_file,
    split_words,
    unescape,
)


def settings(*texts: str) -> dict[str, tuple[str, ...]]:
    return dict(merge(parse_unit_file(text) for text in texts))


def test_sections_comments_and_blanks() -> None:
    text = "; c\n[Unit]\n  # c\nDescription = An agent\n\n[Service]\r\nExecStart=/bin/a b=c\r\n"
    assert settings(text) == {"Unit.Description": ("An agent",), "Service.ExecStart": ("/bin/a b=c",)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[S]\nk=a \\\n  b\n", "a    b"),
        ("[S]\nk=a \\\n# a comment between\n; and another\n  b\n", "a    b"),
        ("[S]\nk=a\\\\\nl=b\n", "a\\\\"),  # an escaped backslash continues nothing
        ("[S]\nk=a\\", "a"),  # the file ends where a line should follow
        ("\ufeff[S]\nk=a\n", "a"),
        ("[S]\0k=a\0", "a"),
    ],
)
def test_lines_are_put_together(text: str, value: str) -> None:
    assert settings(decode(text.encode()))["S.k"] == (value,)


def test_what_assigns_nothing_is_left_out() -> None:
    assert settings("before=x\n[S]\nnothing\n=value\nk=\n") == {}


@pytest.mark.parametrize(
    "text",
    [
        "[Unit\nk=v\n",
        "[\n",
        "[Un'it]\n",
        "[Un\\it]\n",
        "[S]\nk=" + "x" * LONGEST_LINE,
        "[S]\n" + "k=v\n" * (LARGEST_FILE_BYTES // 4),
        decode(b"[S]\nk=\xff\n"),
    ],
)
def test_what_systemd_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"section|long|large|not text"):
        parse_unit_file(text)


def test_a_comment_need_not_be_text() -> None:
    assert parse_unit_file(decode(b"# \xff\n[S]\nk=v\n")) == (("S", "k", "v"),)


def test_a_hostile_file_takes_no_time() -> None:
    started = time.monotonic()
    with pytest.raises(ValueError, match="too long"):
        parse_unit_file("[S]\nk=" + "x\\\n" * (LONGEST_LINE // 2))
    assert time.monotonic() - started < 5


def test_later_files_add_and_empty_assignments_take_back() -> None:
    first = "[Service]\nExecStart=/bin/a\nEnvironment=A=1\n[Unit]\nAfter=a.service\n"
    drop_in = "[Service]\nExecStart=\nExecStart=/bin/b\nEnvironment=B=2\n[Unit]\nAfter=\nAfter=b.service\n"
    assert settings(first, drop_in) == {
        "Service.ExecStart": ("/bin/b",),
        "Service.Environment": ("A=1", "B=2"),
        "Unit.After": ("a.service", "b.service"),  # dependencies cannot be taken back
    }


def test_an_empty_condition_takes_back_all_of_them() -> None:
    text = "[Unit]\nConditionPathExists=/a\nConditionUser=root\nAssertPathExists=/b\nConditionHost=\n"
    assert settings(text) == {"Unit.AssertPathExists": ("/b",)}


def test_an_empty_trigger_takes_back_all_triggers_and_nothing_else() -> None:
    text = "[Path]\nPathExists=/a\nPathChanged=/b\nUnit=x.service\nPathModified=\n"
    assert settings(text) == {"Path.Unit": ("x.service",)}


def test_words() -> None:
    assert split_words("a  b\tc") == ["a", "b", "c"]
    assert split_words("'a b' c\"d e\" ''") == ["a b", "cd e", ""]
    assert split_words("a 'b c") == ["a"]
    assert unescape(r"a\x20b\tc\\d\101") == "a b\tc\\dA"
    assert is_true(["no", "yes"])
    assert not is_true(["yes", "off"])
    assert not is_true([])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("10", 10), ("100ms", 0.1), ("5min 20s", 320), ("1.5h", 5400), ("2d3h", 183600), (" 7 s ", 7)),
        *(("0", 0), ("1M", 2629800), ("1m", 60), ("1week", 604800), ("5µs", 5e-6), ("infinity", math.inf)),
    ],
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert parse_time_span(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "abc", "5 parsecs", "-5", "5 5x", "s"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no length of time"):
        parse_time_span(text)
