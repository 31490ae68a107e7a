"""Every way in which a file can be missing has its own reason."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from necroscope._native import TaskScanner, list_directories
from necroscope.model.reading import Absence, Reading
from necroscope.sources import host as host_module
from necroscope.sources.host import (
    LARGEST_FILE_BYTES,
    MOST_LINKS,
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


def test_bytes_that_are_not_text_may_be_asked_for(tree: Tree) -> None:
    host = tree({"/proc/x": b"a\xff\n"})
    assert host.read("/proc/x").absence is Absence.BROKEN
    assert host.read("/proc/x", errors="replace").value == "a\ufffd\n"
    assert host.read("/proc/x", errors="surrogateescape").value == "a\udcff\n"


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

    host = tree({"/proc/x": ""})
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


OUT = Path("../" * 20 + "etc/passwd")  # the root itself is nowhere that deep


@pytest.mark.parametrize(
    ("links", "name", "inside"),
    [
        ({"/a": Path("/etc/passwd")}, "/a", "etc/passwd"),
        ({"/a/b": OUT}, "/a/b", "etc/passwd"),
        ({"/a": Path("/")}, "/a/etc/passwd", "etc/passwd"),
        ({"/a": Path("b"), "/b": Path("./c"), "/c": Path("/d/e")}, "/a/f", "d/e/f"),
        ({"/a/b": Path("/c/d")}, "/a/b/../e", "c/e"),  # not a/e: the kernel follows first
        ({}, "/../../etc/passwd", "etc/passwd"),
        ({}, "//etc//./passwd/", "etc/passwd"),
        ({"/a": Path("gone")}, "/a", "gone"),
        ({}, "/", ""),
    ],
)
def test_links_stay_in_the_root(
    tree: Tree, tmp_path: Path, links: dict[str, Path], name: str, inside: str
) -> None:
    host = tree(links)
    assert host.path(name) == tmp_path / inside
    assert host.read("/etc/passwd").absence is Absence.NOT_SUPPORTED
    tree({"/etc/passwd": "theirs\n"})
    if inside == "etc/passwd":
        assert host.read(name).value == "theirs\n"


def test_a_root_that_is_given_by_a_link_or_from_here(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"/tree/a": OUT, "/tree/etc/passwd": "theirs\n", "/link": Path("tree")}).root
    monkeypatch.chdir(root / "tree")
    for given in (root / "link", Path("."), Path("../tree")):  # noqa: PTH201
        assert Host(given).read("/a").value == "theirs\n"


def chain(links: int, end: Path) -> dict[str, Path]:
    """Links that lead from /0 to an end."""
    return {f"/{n}": Path(str(n + 1)) for n in range(links - 1)} | {f"/{links - 1}": end}


def test_too_many_links_lead_nowhere(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("ours\n")
    host = Host(tmp_path / "root")
    tree({f"/root{name}": to for name, to in chain(MOST_LINKS + 1, tmp_path / "outside").items()})
    tree({"/root/loop": Path("loop"), f"/root{tmp_path}/outside": "theirs\n"})
    assert host.read("/1").value == "theirs\n"
    for name in ("/0", "/loop", "/loop/x"):
        for reading in (host.read(name), host.names(name)):
            assert reading.absence is Absence.BROKEN
            assert reading.detail == f"{name}: Too many levels of symbolic links"
        assert host.link_name(name) == host.word(name) == ""


def test_the_kernel_follows_the_links_of_this_machine() -> None:
    assert Host().path("/proc/self/../x") == Path("/proc/self/../x")
    assert Host().read("/proc/self/stat").value


def test_the_first_process_tells_whether_others_are_hidden(tree: Tree, deny: Deny) -> None:
    host = tree({"/proc/1": None})
    assert not host.shows_all_processes()
    tree({"/proc/1/stat": b"1 (\xff) S 0\n"})
    assert host.shows_all_processes()
    deny("/proc/1/stat")
    assert not host.shows_all_processes()


def test_only_a_mounted_proc_is_live(tree: Tree) -> None:
    assert Host().is_live
    assert not tree({"/proc/stat": "cpu 1\n"}).is_live
    link = tree({"/tree/proc": Path("/proc")}).root / "tree"
    assert not Host(link).is_live
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


def test_a_pipe_is_not_an_empty_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = Host(tmp_path).read("/pipe")
    assert reading.absence is Absence.BROKEN
    assert "a pipe and not a file" in reading.reason


def test_a_running_machine_can_be_seen_as_an_image() -> None:
    assert not Host().as_image().is_live
    assert Host().as_image().is_own
    assert Host().is_live


def test_a_node_without_a_name_of_its_own_is_called_as_its_cluster_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/hostname").write_text("necroscope-7x2kq\n")  # the pod's, where we are in one
    monkeypatch.setenv("NODE_NAME", "worker-3")
    assert Host(tmp_path).name() == "necroscope-7x2kq", "a recorded tree is no node of ours"
    monkeypatch.setattr(host_module, "_is_procfs", lambda _: True)
    assert Host(tmp_path).name() == "worker-3"
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_text("node-17\n")
    assert Host(tmp_path).name() == "node-17"


@pytest.mark.parametrize(
    ("kernel", "file", "name"),
    [
        ("us", "node-17", "node-17"),
        ("ip-10-0-0-1", "localhost.localdomain", "ip-10-0-0-1"),
        ("localhost", "localhost", "localhost"),
        ("", "", ""),
    ],
)
def test_behind_another_root_the_machine_is_called_by_its_own_file(
    tmp_path: Path, kernel: str, file: str, name: str
) -> None:
    for path, text in (("proc/sys/kernel/hostname", kernel), ("etc/hostname", file)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(f"{text}\n")
    assert Host(tmp_path).name() == name
