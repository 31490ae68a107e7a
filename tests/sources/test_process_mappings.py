from __future__ import annotations

import os
from pathlib import Path

import pytest

from necroscope.sources.host import Host
from necroscope.sources.process_mappings import (
    MappedRange,
    SharedSegment,
    deleted_files,
    other_processes,
    parse_maps,
    parse_shared_segments,
    read_maps,
)
from necroscope.sources.processes import process_ids

MAPS = """\
558b1a0aa000-558b1a0ab000 r--p 00000000 fe:00 1835136                    /usr/bin/sleep with blanks
7f10c6000000-7f10c6021000 rw-s 00000000 00:01 4                          /SYSV00000000 (deleted)
7f10c7000000-7f10c7001000 rw-p 00000000 00:00 0
7ffd3a5d2000-7ffd3a5f3000 rw-p 00000000 00:00 0                          [stack]
7ffd3a5f9000-7ffd3a5fd000 r--p 00000000 00:00 0                          [vvar]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
"""


def test_ranges_are_told_without_those_that_the_kernel_makes() -> None:
    ranges = list(parse_maps(MAPS))
    assert [one.name for one in ranges] == [
        "/usr/bin/sleep with blanks",
        "/SYSV00000000 (deleted)",
        "",
        "[stack]",
    ]
    assert ranges[1] == MappedRange(
        0x7F10C6000000, 0x7F10C6021000, os.makedev(0, 1), 4, "/SYSV00000000 (deleted)", is_run=False
    )
    assert ranges[0].device == os.makedev(0xFE, 0)


def test_our_own_process_is_there_with_its_program() -> None:
    assert os.getpid() in process_ids(Host())
    ours = list(read_maps(Host(), os.getpid()))
    assert any("python" in one.name for one in ours)
    assert {one.is_run for one in ours if "libc" in one.name} == {True, False}, "code, and the rest of it"


def test_the_others_are_all_but_ourselves() -> None:
    assert os.getppid() in other_processes(Host())
    assert os.getpid() not in other_processes(Host())


def test_a_file_without_a_name_is_found_by_who_has_it_open() -> None:
    descriptor = os.memfd_create("found-by-test")
    try:
        (link,) = [
            file[1] for file in deleted_files(Host(), os.getpid()) if file and "found-by-test" in file[0]
        ]
        assert Path(link).stat().st_ino == os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)


def test_a_process_that_has_ended_has_nothing() -> None:
    assert list(read_maps(Host(), 2**22 + 1)) == []
    assert list(deleted_files(Host(), 2**22 + 1)) == []


SEGMENTS = "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n"


def test_segments_with_who_is_attached() -> None:
    text = SEGMENTS + "0 4 600 1048576 2139 2139 2 0 0 0 0 1776243731 0 1776243731 4096 0\n"
    assert parse_shared_segments(text) == (SharedSegment(4, 1048576, 4096, 2),)


def test_there_may_be_no_segments() -> None:
    assert parse_shared_segments(SEGMENTS) == ()


def test_a_cut_line_of_segments_is_not_understood() -> None:
    with pytest.raises(ValueError):
        parse_shared_segments(SEGMENTS + "0 4 600\n")
