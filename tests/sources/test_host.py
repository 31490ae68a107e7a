"""Every way in which a file can be missing has its own reason."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from necroscope._native import TaskScanner, list_directories
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import (
    LARGEST_FILE_BYTES,
    Host,
    absence_of,
    missing,
    only_line,
    parse_core_list,
    read_whole,
    whole_lines,
)
from tests.sources.conftest import Deny, Tree


def test_text_is_read_and_knows_its_file(tree: Tree) -> None:
    assert tree({"/proc/x": "größe\n"}).read("/proc/x") == Reading("größe\n", detail="/proc/x")


def test_what_cannot_be_read_says_why(tree: Tree, deny: Deny) -> None:
    host = tree({"/proc/x": "1\n", "/proc/folder": None, "/proc/binary": b"\xff\xfe\x00"})
    deny("/proc/x")
    readings = {name: host.read(f"/proc/{name}") for name in ("x", "folder", "binary", "none", "binary/y")}
    assert {name: (r.absence, r.detail) for name, r in readings.items()} == {
        "x": (Absence.NOT_PERMITTED, "/proc/x: Permission denied"),
        "folder": (Absence.BROKEN, "/proc/folder: Is a directory"),
        "binary": (Absence.BROKEN, "/proc/binary is not text"),
        "none": (Absence.NOT_SUPPORTED, "/proc/none: No such file or directory"),
        "binary/y": (Absence.NOT_SUPPORTED, "/proc/binary/y: Not a directory"),
    }


@pytest.mark.parametrize(
    ("number", "absence"),
    [
        (errno.ENODEV, Absence.NOT_SUPPORTED),
        (errno.EOPNOTSUPP, Absence.SWITCHED_OFF),  # psi=0
        (errno.EPERM, Absence.NOT_PERMITTED),
        (errno.EIO, Absence.BROKEN),
    ],
)
def test_errno_is_a_reason(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, number: int, absence: Absence
) -> None:
    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    host = tree({})
    monkeypatch.setattr(os, "open", fail)
    assert host.read("/proc/x") == Reading(absence=absence, detail=f"/proc/x: {os.strerror(number)}")


@pytest.mark.parametrize("path", ["/nonexistent", "/proc/version"])
def test_errors_of_the_rust_core_carry_no_errno_but_are_understood(path: str) -> None:
    for call in (lambda: list_directories(path), lambda: TaskScanner(path).scan(1)):
        with pytest.raises(OSError, match="o") as caught:
            call()
        assert absence_of(caught.value) is Absence.NOT_SUPPORTED
        assert "irectory" in missing(path, caught.value).detail


def test_a_pipe_or_an_endless_file_does_not_hold_us_up(tree: Tree, tmp_path: Path) -> None:
    host = tree({"/zeros": Path("/dev/zero")})
    os.mkfifo(tmp_path / "pipe")
    assert host.read("/pipe").parsed(whole_lines).absence is Absence.BROKEN
    assert len(read_whole(tmp_path / "zeros")) == LARGEST_FILE_BYTES


def test_names_words_and_links(tree: Tree, deny: Deny) -> None:
    host = tree(
        {
            "/sys/devices/pci0/virtio0/net/eth0": None,
            "/sys/devices/pci0/virtio0/net/eth0/device": Path("../.."),  # as good as ../../../virtio0
            "/sys/class/net/eth0": Path("../../devices/pci0/virtio0/net/eth0"),
            "/sys/loop": Path("loop/.."),
            "/proc/hostname": "node-1\n",
            "/proc/cut": "node-",
        }
    )
    assert host.names("/sys").value == ("class", "devices", "loop")
    assert host.link_name("/sys/class/net/eth0/device") == "virtio0"
    assert [host.link_name(name) for name in ("/sys/loop", "/sys/none")] == ["", ""]
    assert [host.word(f"/proc/{name}") for name in ("hostname", "cut", "none")] == ["node-1", "", ""]
    deny("/sys")
    assert host.names("/sys").absence is Absence.NOT_PERMITTED
    assert host.names("/proc/hostname").absence is Absence.NOT_SUPPORTED


def test_only_a_mounted_proc_is_live(tree: Tree) -> None:
    assert Host().is_live
    assert not tree({"/proc/stat": "cpu 1\n"}).is_live
    assert not Host(Path("/nonexistent")).is_live


def test_lines_end_at_newlines_and_nowhere_else() -> None:
    assert whole_lines("a\x0cb\u2028c\x85\nd\n") == ["a\x0cb\u2028c\x85", "d"]
    assert whole_lines("\n") == [""]
    assert only_line("0 100000\n") == "0 100000"
    for parse, text in ((whole_lines, ""), (whole_lines, "a\nb"), (only_line, "a\nb\n")):
        with pytest.raises(ValueError, match=r"line|empty"):
            parse(text)


def test_sets_of_cores() -> None:
    assert parse_core_list("0-3,8,10-11\n") == (0, 1, 2, 3, 8, 10, 11)
    assert parse_core_list("95") == (95,)
    assert parse_core_list("\n") == ()
    for text in ("a", "0-", "1-x", "0-99999999999", "-"):
        with pytest.raises(ValueError, match=r"core|invalid"):
            parse_core_list(text)
