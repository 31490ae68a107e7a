from __future__ import annotations

import os
import time
from pathlib import Path

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_environment import (
    parse_assignments,
    parse_environment_file,
    read_environment,
    read_variables,
)


def test_assignments_in_a_unit_file() -> None:
    lines = ['A=1 "B=two words"', "C='3'", 'broken="', "D", "9=no", "\u00c4=no"]
    assert parse_assignments(lines) == {"A": "1", "B": "two words", "C": "3"}


def test_assignments_in_an_environment_file() -> None:
    text = "# no\n;no\nA=1\n export B=two words \nC=\"x\"\nD='y'\nE=a\\\nb\nnot a line\n=x\n"
    assert parse_environment_file(text) == {"A": "1", "B": "two words", "C": "x", "D": "y", "E": "ab"}


def test_files_go_over_settings_and_an_optional_one_may_be_missing(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/agent").write_text("A=file\nB=2\n")
    settings = {
        "Service.Environment": ("A=unit C=3",),
        "Service.EnvironmentFile": ("/etc/agent", "-/etc/none", "relative", "/etc/%i"),
    }
    assert read_environment(Host(tmp_path), settings) == ({"A": "file", "B": "2", "C": "3"}, ())


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "etc/agent").mkdir(parents=True)
    os.mkfifo(tmp_path / "etc/pipe")
    settings = {"Service.EnvironmentFile": ("/etc/agent", "/etc/pipe")}
    variables, unread = read_environment(Host(tmp_path), settings)
    assert not variables
    assert [row.source for row in unread] == ["/etc/agent", "/etc/pipe"]


def test_quotes_go_over_lines_as_systemd_reads_them() -> None:
    text = (
        'KEY="-----BEGIN PRIVATE KEY-----\nabc/def=\n-----END PRIVATE KEY-----"\nPASS="l1\nx=zq7"\n'
        'A=don\'t "x"\nB=\'a\'"b"c d  \nC="x\\"y\\\\"\n# a comment \\\nD=no\nE=\n\u00c4=no\nCUT="x\ny=z\n'
    )
    assert parse_environment_file(text) == {
        "KEY": "-----BEGIN PRIVATE KEY-----\nabc/def=\n-----END PRIVATE KEY-----",
        "PASS": "l1\nx=zq7",
        "A": 'don\'t "x"',
        "B": "abc d",
        "C": 'x"y\\',
        "E": "",
        "CUT": "x\ny=z\n",
    }


def test_hostile_environment_files_are_quick() -> None:
    begin = time.monotonic()
    for text in ('"', "A=", "A='", "\\", "A=\n", " ", "a", "\n #", 'A="" ', 'A="\\'):
        parse_environment_file(text * 100_000)
    assert time.monotonic() - begin < 5


def test_patterns_and_another_reader(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    for name in ("a.env", "b.env", "c.txt"):
        (tmp_path / "etc" / name).write_text(f"{name[0].upper()}=1\n")
    settings = {"Service.EnvironmentFile": ("-/etc/*.env",)}
    assert read_environment(Host(tmp_path), settings) == ({"A": "1", "B": "1"}, ())

    def read(host: Host, name: str) -> Reading[str]:
        is_closed = name.endswith("a.env")
        return Reading(absence=Absence.SWITCHED_OFF) if is_closed else host.read(name)

    variables, unread = read_variables(Host(tmp_path), settings, read)
    assert (variables, [*unread]) == ({"B": "1"}, ["/etc/a.env"])
