from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import pytest

from necroscope.model.package import Package, Packages
from necroscope.model.reading import Absence
from necroscope.sources.packaging.packages import find_owners, read_packages
from tests.sources.conftest import Content, Tree

RPM = lzma.decompress((Path(__file__).parent / "package_databases/rpmdb.sqlite.xz").read_bytes())
RPM_FILE = "/var/lib/rpm/rpmdb.sqlite"
needs_rpm = pytest.mark.skipif(shutil.which("rpm") is None, reason="the program rpm is missing")
STATUS = "/var/lib/dpkg/status"


def stanzas(*names: str) -> str:
    return "".join(
        f"Package: {name}\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n\n" for name in names
    )


DEBIAN: dict[str, Content] = {
    STATUS: stanzas("b", "a"),
    "/var/lib/dpkg/info/a.list": "/lib/systemd/system/a.service\n/sbin/a\n",
    "/var/lib/dpkg/info/b.list": "/usr/lib/systemd/system/b.service\n/usr/bin/b\n",
}


def test_packages_are_sorted(tree: Tree) -> None:
    expected = Packages("dpkg", (Package("a", "1", "all"), Package("b", "1", "all")))
    assert read_packages(tree(DEBIAN)).value == expected


@needs_rpm
@pytest.mark.parametrize(
    ("files", "manager"),
    [
        ({RPM_FILE: RPM}, "rpm"),
        ({RPM_FILE: RPM, STATUS: ""}, "rpm"),
        ({RPM_FILE: RPM, STATUS: stanzas(*"abcd")}, "rpm"),
        ({RPM_FILE: RPM, STATUS: stanzas(*"abcdef")}, "dpkg"),
        ({RPM_FILE: b"bad", STATUS: stanzas("a")}, "dpkg"),
    ],
)
def test_the_manager_with_the_packages(tree: Tree, files: dict[str, Content], manager: str) -> None:
    value = read_packages(tree(files)).value
    assert value is not None
    assert value.manager == manager


@pytest.mark.parametrize(
    ("files", "absence", "named"),
    [
        ({"/etc": None}, Absence.NOT_SUPPORTED, (STATUS, "/usr/lib/sysimage/rpm", "/var/lib/rpm")),
        ({RPM_FILE: b"bad"}, Absence.BROKEN, (RPM_FILE,)),
        ({RPM_FILE: b"bad", STATUS: ""}, Absence.BROKEN, (RPM_FILE,)),
        ({STATUS: "bad"}, Absence.BROKEN, (STATUS,)),
    ],
)
def test_no_packages(tree: Tree, files: dict[str, Content], absence: Absence, named: tuple[str, ...]) -> None:
    reading = read_packages(tree(files))
    assert reading.absence is absence
    assert all(name in reading.detail for name in named)


@needs_rpm
def test_owners_of_both_managers(tree: Tree) -> None:
    paths = ["/usr/bin/b", "/usr/bin/agent", "/usr/bin/nobody's"]
    found = find_owners(tree({**DEBIAN, RPM_FILE: RPM}), iter(paths)).value
    assert found == {"/usr/bin/b": "b", "/usr/bin/agent": "agent"}


def test_a_database_that_cannot_be_read_is_said(tree: Tree) -> None:
    reading = find_owners(tree({**DEBIAN, RPM_FILE: b"bad"}), ["/usr/bin/b"])
    assert reading.value == {"/usr/bin/b": "b"}
    assert RPM_FILE in reading.detail


def test_owners_without_a_database(tree: Tree) -> None:
    reading = find_owners(tree({"/etc": None}), ["/usr/bin/b"])
    assert reading.absence is Absence.NOT_SUPPORTED
    assert "/var/lib/dpkg/info" in reading.detail
    assert "/var/lib/rpm" in reading.detail


EITHER = ("/lib/systemd/system/a.service", "/usr/lib/systemd/system/a.service", "/sbin/a", "/usr/sbin/a")


@pytest.mark.parametrize("links", [{"/lib": Path("usr/lib"), "/sbin": Path("/usr/sbin")}, {}])
def test_either_name_where_usr_is_merged(tree: Tree, links: dict[str, Content]) -> None:
    folders: dict[str, Content] = {"/usr/lib": None, "/usr/sbin": None, "/usr/bin": None}
    found = find_owners(
        tree({**DEBIAN, **folders, **links}), [*EITHER, "/lib/systemd/system/b.service"]
    ).value
    assert found == dict.fromkeys(EITHER, "a") | {"/lib/systemd/system/b.service": "b"}


def test_two_files_where_it_is_not(tree: Tree) -> None:
    folders: dict[str, Content] = {f"{usr}/{name}": None for usr in ("", "/usr") for name in ("lib", "sbin")}
    found = find_owners(tree({**DEBIAN, **folders}), [*EITHER, "/lib/systemd/system/b.service"]).value
    assert found == {"/lib/systemd/system/a.service": "a", "/sbin/a": "a"}


def test_sbin_is_bin_where_it_is_a_link(tree: Tree) -> None:
    links: dict[str, Content] = {
        "/usr/bin": None,
        "/usr/sbin": Path("bin"),
        "/sbin": Path("usr/sbin"),
        "/bin": Path("usr/bin"),
    }
    names = ("/usr/bin/a", "/bin/a", "/usr/sbin/a", "/sbin/a")
    assert find_owners(tree({**DEBIAN, **links}), names).value == dict.fromkeys(names, "a")


def test_links_in_a_circle_do_no_harm(tree: Tree) -> None:
    host = tree({**DEBIAN, "/lib": Path("lib"), "/usr/lib": None})
    assert find_owners(host, ["/lib/systemd/system/a.service"]).value
