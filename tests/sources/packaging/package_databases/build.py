"""Real databases of RPM, from small packages that are built and installed here.

.venv/bin/python -m tests.sources.packaging.package_databases.build     makes the fixtures of this folder
"""

from __future__ import annotations

import lzma
import shutil
import sqlite3
import struct
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

PROGRAMS = {"rpm": "rpm", "rpmbuild": "rpm"}
FOLDER = Path(__file__).parent
DATABASE = "var/lib/rpm/rpmdb.sqlite"
MANY_FILES = 300  # a header that takes several pages of a Berkeley DB
PAGE_BYTES = 512

HEAD = """\
Name: {name}
Version: {version}
Release: {release}
{epoch}
Summary: A package for tests
License: Apache-2.0
{architecture}
%description
A package for tests.
"""


def why_not() -> str | None:
    """What is missing to make databases here, if anything."""
    missing = [f"{name} (package {package})" for name, package in PROGRAMS.items() if not shutil.which(name)]
    return f"no {', '.join(missing)}" if missing else None


def spec(name: str, version: str, files: list[str], *, epoch: str = "", is_noarch: bool = False) -> str:
    """What rpmbuild wants to know of a package with these files."""
    head = HEAD.format(
        name=name,
        version=version,
        release="3.el9",
        epoch=f"Epoch: {epoch}" if epoch else "",
        architecture="BuildArch: noarch" if is_noarch else "",
    )
    paths = [file.split()[-1] for file in files]
    # The content differs from package to package: RPM lets several of them own the same file.
    install = "\n".join(f"install -D %{{_specdir}}/{name}.spec %{{buildroot}}{path}" for path in paths)
    return "\n".join([head, "%install", install, "%files", *files, ""])


SPECS = {
    "agent": spec(
        "agent",
        "1.2",
        ["/usr/lib/systemd/system/agent.service", "/usr/bin/agent", "%config /etc/agent.conf"],
        epoch="2",
    ),
    "many": spec("many", "7", [f"/usr/share/many/folder-{n % 9}/file-{n}" for n in range(MANY_FILES)]),
    "old-unit": spec("old-unit", "0.1", ["/lib/systemd/system/old.service"], is_noarch=True),
    "gone": spec("gone", "1", ["/usr/lib/systemd/system/gone.service", "/usr/bin/gone"]),
    "first": spec("first", "1", ["/usr/bin/shared", "/usr/bin/first"]),
    "second": spec("second", "1~rc1", ["/usr/bin/shared", "%ghost /var/log/second.log"], epoch="0"),
}


def build_packages(folder: Path, specs: dict[str, str]) -> list[Path]:
    """Build packages, and give their files in the order of the specs."""
    macros = [f"_topdir {folder}/build", f"_specdir {folder}", "_buildhost builder"]
    packages: list[Path] = []
    for name, text in specs.items():
        path = folder / f"{name}.spec"
        path.write_text(text)
        defines = [word for macro in macros for word in ("--define", macro)]
        subprocess.run(["rpmbuild", "-bb", "--quiet", *defines, str(path)], check=True, capture_output=True)
        packages += (folder / "build/RPMS").rglob(f"{name}-*.rpm")
    return packages


def rpm(root: Path, *words: str, database: str = "/var/lib/rpm") -> str:
    """What rpm says in a root of its own."""
    command = ["rpm", "--root", str(root), "--dbpath", database, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def make_sqlite(folder: Path, root: Path) -> Path:
    """Install the packages into a root, remove one again, and give the database."""
    packages = build_packages(folder, SPECS)
    (root / "usr/lib").mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    *others, second = map(str, packages)
    rpm(root, "-i", "--nodeps", *others)
    rpm(root, "-i", "--nodeps", "--replacefiles", second)
    rpm(root, "-e", "gone")
    return root / DATABASE


def headers_of(database: Path) -> dict[int, bytes]:
    """The headers by number."""
    with closing(sqlite3.connect(database)) as connection:
        return dict(connection.execute("SELECT hnum, blob FROM Packages"))


def make_berkeley(headers: dict[int, bytes], target: Path) -> None:
    """The same headers in a Berkeley DB, laid out as RPM does: number -> header, and 0 -> highest number."""
    lines = ["VERSION=3", "format=bytevalue", "type=hash", f"db_pagesize={PAGE_BYTES}", "HEADER=END"]
    for number, blob in {0: struct.pack("<I", max(headers)), **headers}.items():
        lines += [f" {struct.pack('<I', number).hex()}", f" {blob.hex()}"]
    text = "\n".join([*lines, "DATA=END", ""])
    subprocess.run(["db5.3_load", str(target)], input=text, check=True, text=True, capture_output=True)


def main() -> None:
    """Make the fixtures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = make_sqlite(folder, folder / "root")
        make_berkeley(headers_of(database), folder / "Packages")
        for file in (database, folder / "Packages"):
            (FOLDER / f"{file.name}.xz").write_bytes(lzma.compress(file.read_bytes()))


if __name__ == "__main__":
    main()
