"""Our reading of package databases beside what dpkg and rpm themselves say of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from necroscope.model.package import Packages
from necroscope.sources.host import Host
from necroscope.sources.packaging.packages import Package, find_owners, read_packages
from tests.sources.packaging.package_databases import build

DPKG = Path("/var/lib/dpkg")
UNITS = Path("/lib/systemd/system")
INSTALLED = ("installed", "triggers-awaited", "triggers-pending", "half-configured", "unpacked")
QUERY = "${Package}\\t${Version}\\t${Architecture}\\t${db:Status-Status}\\n"

needs_dpkg = pytest.mark.skipif(
    not (shutil.which("dpkg") and shutil.which("dpkg-deb") and (DPKG / "status").exists()),
    reason="not a machine of dpkg",
)
needs_rpm = pytest.mark.skipif(build.why_not() is not None, reason=str(build.why_not()))


def packages(host: Host) -> Packages:
    reading = read_packages(host)
    assert reading.value is not None, reading.reason
    return reading.value


def owners(host: Host, paths: list[str]) -> dict[str, str]:
    reading = find_owners(host, paths)
    assert reading.value is not None, reading.reason
    assert reading.detail == ""
    return dict(reading.value)


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


# dpkg


def dpkg_says(admin: Path) -> list[Package]:
    rows = [
        line.split("\t")
        for line in run("dpkg-query", "--admindir", str(admin), "-W", "-f", QUERY).splitlines()
    ]
    return sorted(Package(*row[:3]) for row in rows if row[3] in INSTALLED)


def dpkg_owners(paths: list[str]) -> dict[str, str]:
    """The first owner of each, for paths that are not diverted."""
    patterns = [re.sub(r"([\\\[*?])", r"\\\1", path) for path in paths]
    command = ["dpkg-query", "-S", *patterns]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    found = [line.partition(": ") for line in lines if " diversion " not in f" {line}"]
    return {path: min(name.split(":")[0] for name in names.split(", ")) for names, _, path in found}


@needs_dpkg
def test_this_machine_as_dpkg_sees_it() -> None:
    found = packages(Host())
    assert found.manager == "dpkg"
    assert list(found.installed) == dpkg_says(DPKG)


@needs_dpkg
def test_a_copy_of_the_database_alone(tmp_path: Path) -> None:
    shutil.copytree(DPKG, tmp_path / "var/lib/dpkg")
    assert list(packages(Host(tmp_path)).installed) == dpkg_says(tmp_path / "var/lib/dpkg")


@needs_dpkg
@pytest.mark.parametrize("is_own", [True, False])
def test_owners_as_dpkg_names_them(tmp_path: Path, is_own: bool) -> None:
    diverted = {line for line in (DPKG / "diversions").read_text().splitlines() if line.startswith("/")}
    files = [f"/lib/systemd/system/{path.name}" for path in UNITS.iterdir()]
    files += [str(path) for path in Path("/usr/bin").iterdir()]
    files = [path for path in files if path not in diverted]
    if not is_own:
        shutil.copytree(DPKG, tmp_path / "var/lib/dpkg")
    host = Host() if is_own else Host(tmp_path)
    expected = dpkg_owners(files)
    # dpkg knows one name of each file only: a newer package may say /usr/lib, an older one /bin.
    aliases = {
        path: f"/usr{path}" if path.startswith("/lib/") else path.removeprefix("/usr") for path in files
    }
    by_alias = dpkg_owners(list(aliases.values()))
    expected |= {path: by_alias[alias] for path, alias in aliases.items() if alias in by_alias}
    assert len(expected) > 200
    assert owners(host, files) == expected


def debian_package(folder: Path, name: str, files: list[str], *, configuration: str = "") -> Path:
    """A package whose files say which it is from."""
    tree = folder / name
    for file in [*files, configuration] if configuration else files:
        path = tree / file.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tree / "DEBIAN").mkdir()
    fields = {
        "Package": name,
        "Version": "1:2-3",
        "Architecture": "all",
        "Maintainer": "Nobody <n@example.org>",
    }
    lines = [f"{field}: {value}\n" for field, value in fields.items()]
    (tree / "DEBIAN/control").write_text("".join([*lines, "Description: a test\n"]))
    if configuration:
        (tree / "DEBIAN/conffiles").write_text(f"{configuration}\n")
    run("dpkg-deb", "--root-owner-group", "--build", str(tree), str(folder / f"{name}.deb"))
    return folder / f"{name}.deb"


@needs_dpkg
def test_diversions_and_states_as_dpkg_makes_them(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "var/lib/dpkg/info").mkdir(parents=True)
    (root / "var/lib/dpkg/updates").mkdir()
    (root / "var/lib/dpkg/status").touch()
    dpkg = ["dpkg", f"--root={root}", "--force-depends", "--force-unsafe-io", "--force-script-chrootless"]
    divert = ["dpkg-divert", "--root", str(root), "--divert", "/usr/bin/tool.old", "--rename"]
    old = debian_package(tmp_path, "old", ["/usr/bin/tool", "/usr/bin/old"])
    new = debian_package(tmp_path, "new", ["/usr/bin/tool"])
    gone = debian_package(tmp_path, "gone", ["/usr/bin/gone"], configuration="/etc/gone.conf")
    half = debian_package(tmp_path, "half", ["/usr/bin/half"])
    run(*dpkg, "--install", str(old), str(gone))
    run(*divert, "--package", "new", "--add", "/usr/bin/tool")
    run(*dpkg, "--install", str(new))
    run(*dpkg, "--remove", "gone")
    run(*dpkg, "--unpack", str(half))

    host = Host(root)
    found = packages(host)
    assert [package.name for package in found.installed] == ["half", "new", "old"]
    assert list(found.installed) == dpkg_says(root / "var/lib/dpkg")
    on_disk = [
        path for path in root.rglob("*") if path.is_file() and "var" not in path.relative_to(root).parts
    ]
    content = {f"/{path.relative_to(root)}": path.read_text() for path in on_disk}
    assert content["/usr/bin/tool.old"] == "old"  # dpkg did divert
    assert owners(host, [*content, "/usr/bin/gone"]) == content


# RPM


@pytest.fixture(scope="module")
def rpm_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rpm")
    build.make_sqlite(folder, folder / "root")
    return folder / "root"


def rpm_says(root: Path) -> list[Package]:
    lines = build.rpm(root, "-qa", "--qf", "%{NAME}\t%{EVR}\t%{ARCH}\n").splitlines()
    return sorted(Package(*line.split("\t")) for line in lines)


@needs_rpm
def test_sqlite_as_rpm_sees_it(rpm_root: Path) -> None:
    found = packages(Host(rpm_root))
    assert found.manager == "rpm"
    assert list(found.installed) == rpm_says(rpm_root)
    assert len(found.installed) == len(build.SPECS) - 1


@needs_rpm
def test_owners_as_rpm_names_them(rpm_root: Path) -> None:
    listed = build.rpm(rpm_root, "-qal").splitlines()
    assert len(listed) > build.MANY_FILES
    names = build.rpm(rpm_root, "-qf", "--qf", "%{NAME}\n", *listed).splitlines()
    expected = dict(zip(listed, names, strict=True))
    expected["/usr/lib/systemd/system/old.service"] = expected["/lib/systemd/system/old.service"]
    assert owners(Host(rpm_root), [*expected, "/usr/bin/gone"]) == expected
