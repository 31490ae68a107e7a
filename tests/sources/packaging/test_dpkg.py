from __future__ import annotations

import os
from pathlib import Path

import pytest

from necroscope.model.package import Package
from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.packaging import dpkg
from necroscope.sources.packaging.dpkg import parse_status, read_installed
from tests.sources.conftest import Content, Deny, Tree

STATUS = """\
Package: cron
Status: install ok installed
Priority: important
Maintainer: J\u00f6rg <j@example.org>
Architecture: amd64
Version: 3.0pl1-162
Description: process scheduling daemon
 Package: this is a continuation, not a field
 .
 More.

Package: left-over
Status: deinstall ok config-files
Architecture: all
Version: 1

Package: libc6
Status: install ok installed
Architecture: i386
Version: 2.36-9

Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9

"""
CRON = Package("cron", "3.0pl1-162", "amd64")
PATH = "/var/lib/dpkg/status"


def stanza(name: str, state: str, version: str = "1:2-3") -> str:
    return f"Package: {name}\nStatus: install ok {state}\nVersion: {version}\nArchitecture: all\n\n"


def test_installed_packages_by_architecture(tree: Tree) -> None:
    installed = read_installed(tree({PATH: STATUS})).value
    assert installed == (CRON, Package("libc6", "2.36-9", "i386"), Package("libc6", "2.36-9", "amd64"))


@pytest.mark.parametrize(
    ("state", "is_installed"),
    [
        ("installed", True),
        ("triggers-awaited", True),
        ("triggers-pending", True),
        ("half-configured", True),
        ("unpacked", True),
        ("half-installed", False),
        ("config-files", False),
        ("not-installed", False),
        ("", False),
    ],
)
def test_what_counts_as_installed(state: str, is_installed: bool) -> None:
    (entry,) = parse_status(stanza("a", state))
    assert entry.is_installed is is_installed


def test_what_an_interrupted_dpkg_did_last_counts(tree: Tree) -> None:
    files = {
        PATH: stanza("a", "installed", "1") + stanza("b", "installed", "1"),
        "/var/lib/dpkg/updates/0000": stanza("a", "unpacked", "2"),
        "/var/lib/dpkg/updates/0001": stanza("b", "config-files", "1"),
        "/var/lib/dpkg/updates/tmp.i": "Pack",
    }
    assert read_installed(tree(files)).value == (Package("a", "2", "all"),)


def test_an_image_without_dpkg(tree: Tree) -> None:
    files: dict[str, Content] = {
        "/var/lib/dpkg/status.d/base": "Package: base-files\nVersion: 12\nArchitecture: amd64\n",
        "/var/lib/dpkg/status.d/base.md5sums": "",
        "/var/lib/dpkg/status.d/bad": b"\x00\xff",
    }
    reading = read_installed(tree(files))
    assert reading.value == (Package("base-files", "12", "amd64"),)
    assert "/var/lib/dpkg/status.d/bad" in reading.detail


def test_a_name_that_is_not_utf_8_is_no_obstacle(tree: Tree) -> None:
    assert CRON in (read_installed(tree({PATH: STATUS.encode("latin-1")})).value or ())


@pytest.mark.parametrize(
    "content",
    [
        STATUS[:-4],
        STATUS.replace("Version: 3.0pl1-162\n", ""),
        b"\xff\xfe\x00",
        b"\x00\x01\n\x02\n",
        "x: y\n",
    ],
    ids=["cut", "no version", "binary", "binary lines", "no package"],
)
def test_a_bad_status_file_is_refused(tree: Tree, content: str | bytes) -> None:
    reading = read_installed(tree({PATH: content}))
    assert reading.absence is Absence.BROKEN
    assert PATH in reading.detail


@pytest.mark.parametrize("content", ["", "\n", STATUS.replace("ok installed", "ok config-files")])
def test_a_database_without_packages_is_none(tree: Tree, content: str) -> None:
    reading = read_installed(tree({PATH: content}))
    assert reading.absence is Absence.NOT_SUPPORTED
    assert PATH in reading.detail


def test_no_database(tree: Tree) -> None:
    reading = read_installed(tree({"/etc": None}))
    assert (reading.absence, PATH in reading.detail) == (Absence.NOT_SUPPORTED, True)


def test_no_permission(tree: Tree, deny: Deny) -> None:
    host = tree({PATH: STATUS})
    deny("dpkg/status")
    assert read_installed(host).absence is Absence.NOT_PERMITTED


def test_what_is_no_file_neither_crashes_nor_hangs(tmp_path: Path, tree: Tree) -> None:
    tree({"/var/lib/dpkg/status": Path("status"), "/var/lib/dpkg/status.d/folder": None})
    assert read_installed(Host(tmp_path)).absence is Absence.BROKEN
    (tmp_path / "var/lib/dpkg/status").unlink()
    os.mkfifo(tmp_path / "var/lib/dpkg/status")
    assert read_installed(Host(tmp_path)).absence is Absence.BROKEN  # the folder that is no part of a status


def test_more_packages_than_there_are_in_the_world_are_refused(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dpkg, "MAX_PACKAGES", 3)
    many = "".join(stanza(f"p{number}", "installed") for number in range(4))
    assert "more than 3 packages" in read_installed(tree({PATH: many + stanza("p4", "installed")})).reason
    parts = {f"/var/lib/dpkg/status.d/{number}": many[: len(many) // 2] for number in range(3)}
    assert "more than 3 packages" in read_installed(tree(parts)).reason
