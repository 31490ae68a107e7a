from __future__ import annotations

import pytest

from necroscope.sources.shared_segments import SharedSegment, parse_shared_segments

HEAD = "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n"


def test_segments_with_who_is_attached() -> None:
    text = HEAD + "0 4 600 1048576 2139 2139 2 0 0 0 0 1776243731 0 1776243731 4096 0\n"
    assert parse_shared_segments(text) == (SharedSegment(4, 1048576, 4096, 2),)


def test_there_may_be_none() -> None:
    assert parse_shared_segments(HEAD) == ()


def test_a_cut_line_is_not_understood() -> None:
    with pytest.raises(ValueError):
        parse_shared_segments(HEAD + "0 4 600\n")
