from __future__ import annotations

import os
from pathlib import Path

import pytest

from necroscope.model.package import Package
from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.packaging import dpkg
from necroscope.sources.packaging.dpkg import find_owners, parse_diversions, parse_status, read_installed
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


# Owners of files

INFO = "/var/lib/dpkg/info"
SUM = "d41d8cd98f00b204e9800998ecf8427e"
FILES: dict[str, Content] = {
    f"{INFO}/cron.list": "/.\n/lib\n/lib/systemd/system/cron.service\n/usr/share/doc/both\n",
    f"{INFO}/cron.md5sums": f"{SUM}  not/asked/for\n",
    f"{INFO}/libc6:amd64.list": "/.\n/lib/ld.so\n/usr/share/doc/both\n",
    f"{INFO}/slim.md5sums": f"{SUM}  usr/bin/slim\n",
    f"{INFO}/cron.postinst": "/usr/bin/slim\n",
}


def owners(host: Host, *paths: str) -> dict[str, str]:
    reading = find_owners(host, paths)
    assert reading.value is not None, reading.reason
    return dict(reading.value)


def test_the_owner_of_each_path(tree: Tree) -> None:
    paths = ("/lib/systemd/system/cron.service", "/lib/ld.so", "/usr/bin/slim", "/usr/share/doc/both")
    assert owners(tree(FILES), *paths, "/lib/systemd/system/cron", "/not/asked/for", "/nobody's") == {
        "/lib/systemd/system/cron.service": "cron",
        "/lib/ld.so": "libc6",
        "/usr/bin/slim": "slim",
        "/usr/share/doc/both": "cron",  # of several, the first by name
    }


def test_owners_in_an_image_without_dpkg(tree: Tree) -> None:
    files: dict[str, Content] = {
        "/var/lib/dpkg/status.d/tz": "Package: tzdata\nVersion: 1\nArchitecture: all\n",
        "/var/lib/dpkg/status.d/tz.md5sums": f"{SUM}  usr/sbin/tzconfig\n",
        "/var/lib/dpkg/status.d/lost.md5sums": f"{SUM}  usr/bin/lost\n",
    }
    found = owners(tree(files), "/usr/sbin/tzconfig", "/usr/bin/lost")
    assert found == {"/usr/sbin/tzconfig": "tzdata", "/usr/bin/lost": "lost"}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("new", {"/usr/bin/tool": "new", "/usr/bin/tool.old": "old"}),
        (":", {"/usr/bin/tool.old": "new"}),  # by the administrator: nobody owns the name now
        ("gone", {"/usr/bin/tool.old": "new"}),
    ],
)
def test_a_diverted_file_is_found_where_it_is(tree: Tree, by: str, expected: dict[str, str]) -> None:
    files: dict[str, Content] = {
        f"{INFO}/old.list": "/usr/bin/tool\n",
        f"{INFO}/new.list": "/usr/bin/tool\n",
        "/var/lib/dpkg/diversions": f"/usr/bin/tool\n/usr/bin/tool.old\n{by}\n",
    }
    host = tree(files)
    assert owners(host, "/usr/bin/tool", "/usr/bin/tool.old") == expected
    assert owners(host, "/usr/bin/tool.old") == {"/usr/bin/tool.old": expected["/usr/bin/tool.old"]}


def test_one_list_that_cannot_be_read_does_not_lose_the_rest(tree: Tree, deny: Deny) -> None:
    host = tree(FILES)
    deny("libc6:amd64.list")
    reading = find_owners(host, {"/lib/ld.so", "/usr/share/doc/both"})
    assert reading.value == {"/usr/share/doc/both": "cron"}
    assert "1 of 3 lists" in reading.detail
    assert f"{INFO}/libc6:amd64.list" in reading.detail


def test_lists_that_are_links_stay_inside_and_what_is_no_file_does_no_harm(
    tmp_path: Path, tree: Tree
) -> None:
    outside = tmp_path / "outside.list"
    outside.write_text("/stolen\n")
    host = Host(tmp_path / "root")
    folder = tmp_path / f"root{INFO}"
    folder.mkdir(parents=True)
    (folder / "a.list").write_text("/a\n")
    (folder / "absolute.list").symlink_to(outside)
    (folder / "relative.list").symlink_to("../../../../../outside.list")
    (folder / "loop.list").symlink_to("loop.list")
    (folder / "folder.list").mkdir()
    os.mkfifo(folder / "pipe.list")
    (folder / "binary.list").write_bytes(bytes(range(256)) * 9)
    reading = find_owners(host, {"/a", "/stolen"})
    assert reading.value == {"/a": "a"}
    assert "5 of 7 lists" in reading.detail


@pytest.mark.parametrize("content", ["/a\n/b\n", "/a\n/b\nc", "\x00"])
def test_diversions_that_are_not_whole_are_refused(tree: Tree, content: str) -> None:
    reading = find_owners(tree({**FILES, "/var/lib/dpkg/diversions": content}), {"/a"})
    assert reading.absence is Absence.BROKEN
    assert "/var/lib/dpkg/diversions" in reading.detail


def test_no_diversions() -> None:
    assert parse_diversions("") == {}


def test_no_lists(tree: Tree, deny: Deny) -> None:
    host = tree({f"{INFO}/format": "1\n"})
    assert find_owners(host, {"/a"}).absence is Absence.NOT_SUPPORTED
    assert find_owners(Host(host.root / "nowhere"), {"/a"}).absence is Absence.NOT_SUPPORTED
    deny("dpkg/info")
    assert find_owners(host, {"/a"}).absence is Absence.NOT_PERMITTED


def test_no_list_can_be_read(tree: Tree, deny: Deny) -> None:
    host = tree({f"{INFO}/a.list": "/a\n"})
    deny("a.list")
    assert find_owners(host, {"/a"}).absence is Absence.NOT_PERMITTED
