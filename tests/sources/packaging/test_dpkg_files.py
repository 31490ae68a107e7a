from __future__ import annotations

import os
from pathlib import Path

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.packaging.dpkg_files import find_owners, parse_diversions
from tests.sources.conftest import Content, Deny, Tree

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


def test_an_image_without_dpkg(tree: Tree) -> None:
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


def test_links_stay_inside_and_what_is_no_file_does_no_harm(tmp_path: Path, tree: Tree) -> None:
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
