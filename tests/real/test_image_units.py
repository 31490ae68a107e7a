"""Units told from files, against a systemd that has loaded them, its generators, and real Debian images."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.machines import nspawn
from lab.machines.image_roots import (
    PLANTED,
    debian_root,
    is_enabled,
    list_unit_files,
    plant,
    set_traps,
    why_no_debian_root,
)
from lab.machines.nspawn import Container
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_files import UnitFile, read_unit_files
from necroscope.sources.systemd.unit_obstacles import find_obstacles

SLEEP = "[Service]\nExecStart=/bin/sleep infinity\n"
UNITS = {
    "a-b-c.service": "[Unit]\nWants=wanted.service\nWants=\nRequires=named.service\n" + SLEEP,
    "a-b-c.service.d/20-own.conf": "[Unit]\nDescription=own\n",
    "a-b-.service.d/20-own.conf": "[Unit]\nDescription=hidden\n",
    "a-.service.d/10-first.conf": "[Service]\nEnvironment=A=1\n",
    "service.d/05-all.conf": "[Service]\nEnvironment=B=1\n",
    "named.service": SLEEP,
    "alias.service.d/30-alias.conf": "[Service]\nEnvironment=C=1\n",
    "wanted.service": SLEEP,
    "from@.service": "[Unit]\nRequires=named.service\nWants=of-%i.service\n" + SLEEP,
    "from@.service.d/a.conf": "[Service]\nEnvironment=D=1\n",
    "from@one.service.d/b.conf": "[Service]\nEnvironment=E=1\n",
    "of-one.service": SLEEP,
    "called.socket": "[Socket]\nListenStream=/run/called\n",
    "called.service": SLEEP,
    "daily.timer": "[Timer]\nOnBootSec=1h\nUnit=wanted.service\n",
}
ENABLED = ("a-b-c.service", "called.socket", "daily.timer")
LINKS = {
    "alias.service": "named.service",
    "multi-user.target.wants/from@one.service": "../from@.service",
    "a-b-c.service.requires/called.service": "../called.service",
}
PROPERTIES = (
    *("Id", "LoadState", "FragmentPath", "DropInPaths", "UnitFileState"),
    *("WantedBy", "UpheldBy", "TriggeredBy", "RequiredBy", "RequisiteOf", "BoundBy"),
)

GENERATORS = Path("/usr/lib/systemd/system-generators")
FSTAB = r"""
# a comment
LABEL=root / tmpfs noauto,nofail 0 1
data /srv/my\040data tmpfs defaults 0 2
data /mnt/a-b tmpfs nofail 0 0
server:/x /nfs nfs defaults 0 0
//server/y /cifs cifs _netdev,noauto 0 0
u@host: /ssh fuse.sshfs
proc /proc proc defaults 0 0
data /auto tmpfs x-systemd.automount,nofail 0 0
data /asked tmpfs x-systemd.wanted-by=foo.service,x-systemd.required-by=bar.service 0 0
data /.hidden/dir.x tmpfs auto,noauto
data /no autofs defaults
"""


def read(root: Path) -> dict[str, UnitFile]:
    reading = read_unit_files(Host(root))
    assert reading.value is not None, reading.reason
    return {unit.name: unit for unit in reading.value}


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    if reason := nspawn.why_not():
        pytest.skip(reason)
    with Container(units=UNITS, enable=ENABLED) as container:
        for link, target in LINKS.items():
            path = container.root / "etc/systemd/system" / link
            path.parent.mkdir(exist_ok=True)
            path.symlink_to(target)
        container.run(["systemctl", "daemon-reload"])
        container.run(["systemctl", "start", "--no-block", "alias.service", "from@one.service"])
        yield container


@pytest.fixture(scope="module")
def loaded(machine: Container) -> dict[str, dict[str, str]]:
    """What systemd says about every unit that it has loaded from a file."""
    shown = machine.run(["systemctl", "show", "--all", "--property", ",".join(PROPERTIES), "*"])
    blocks = (dict(line.split("=", 1) for line in text.splitlines()) for text in shown.stdout.split("\n\n"))
    units = {block["Id"]: block for block in blocks if block.get("LoadState") == "loaded"}
    assert units.keys() >= {"a-b-c.service", "from@one.service", "called.service"}
    return {name: unit for name, unit in units.items() if unit["FragmentPath"]}


def test_a_running_systemd_says_the_same(machine: Container, loaded: dict[str, dict[str, str]]) -> None:
    ours = read(machine.root)
    for name in ours.keys() & loaded.keys():
        theirs = loaded[name]
        path = theirs["FragmentPath"]
        said = (f"/usr{path}" if path.startswith("/lib/") else path, tuple(theirs["DropInPaths"].split()))
        assert (ours[name].path, ours[name].drop_ins) == said, name
        assert ours[name].state == theirs["UnitFileState"], name
    # Other instances are there because a setting names them.
    assert all("@" in name for name in loaded.keys() - ours.keys())


def test_who_starts_whom_is_the_same_too(machine: Container, loaded: dict[str, dict[str, str]]) -> None:
    ours = read(machine.root)
    for name in ours.keys() & loaded.keys():
        wanted = _names(loaded[name], "WantedBy", "UpheldBy", "TriggeredBy")
        needed = _names(loaded[name], "RequiredBy", "RequisiteOf", "BoundBy")
        assert set(ours[name].wanted_by) & loaded.keys() <= wanted, name
        assert set(ours[name].needed_by) & loaded.keys() <= needed, name
        assert wanted - set(ours[name].wanted_by) == set(), name
        # Every unit needs this one, unless it says otherwise.
        assert name == "sysinit.target" or needed - set(ours[name].needed_by) == set(), name


def _names(unit: dict[str, str], *properties: str) -> set[str]:
    return {name for each in properties for name in unit.get(each, "").split()}


@pytest.mark.skipif(not GENERATORS.is_dir(), reason=f"{GENERATORS} is missing: apt-get install systemd")
def test_generators_make_what_we_tell(tmp_path: Path) -> None:
    root, made = tmp_path / "root", tmp_path / "made"
    made.mkdir()
    scripts = ("plain", "without-link.sh", "native")
    plant(root, {f"etc/init.d/{name}": "#!/bin/sh\n" for name in scripts})
    plant(root, {"etc/init.d/README": "", "etc/fstab": FSTAB, "usr/lib/systemd/system/native.service": SLEEP})
    plant(root, {f"etc/rc{level}.d/S01plain": Path("../init.d/plain") for level in (2, 5)})
    for name in scripts:
        (root / "etc/init.d" / name).chmod(0o755)
    environment = {
        "SYSTEMD_FSTAB": str(root / "etc/fstab"),
        "SYSTEMD_SYSVINIT_PATH": str(root / "etc/init.d"),
        "SYSTEMD_SYSVRCND_PATH": str(root / "etc"),
        "SYSTEMD_UNIT_PATH": str(root / "usr/lib/systemd/system"),
    }
    for generator in ("systemd-fstab-generator", "systemd-sysv-generator"):
        command = [str(GENERATORS / generator), *[str(made)] * 3]
        subprocess.run(command, check=True, env=os.environ | environment, capture_output=True)
    ours = {name: unit for name, unit in read(root).items() if unit.state == "generated"}
    assert ours.keys() == {path.name for path in made.iterdir() if path.is_file()}
    links = {f"{by}.wants/{name}" for name, unit in ours.items() for by in unit.wanted_by}
    links |= {f"{by}.requires/{name}" for name, unit in ours.items() for by in unit.needed_by}
    theirs = {f"{path.parent.name}/{path.name}" for path in made.glob("*/*")}
    links.discard("auto.automount.wants/auto.mount")  # a trigger, which needs no link
    assert links == {link for link in theirs if link.partition("/")[2] in ours}


@pytest.mark.servers
@pytest.mark.skipif(why_no_debian_root() is not None, reason=str(why_no_debian_root()))
@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_of_a_real_image_every_unit_is_told_as_systemd_tells_it(suite: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:  # not kept: it has some 300 MB
        check_image(debian_root(Path(scratch) / suite, suite), Path(scratch) / "mark")


def check_image(root: Path, mark: Path) -> None:
    plant(root, PLANTED)
    obstacles = {name: find_obstacles(Host(root), unit) for name, unit in read(root).items()}
    assert obstacles["dbus.service"] == obstacles["systemd-networkd.service"] == ()
    assert "is not there" in obstacles["planted-broken.service"][0]
    assert set_traps(root, mark) > 100
    ours, theirs = read(root), list_unit_files(root)
    assert len(theirs) > 150
    assert {name: (ours[name].state, ours[name].preset) for name in theirs} == theirs
    others = {name: unit.state for name, unit in ours.items() if name not in theirs}
    assert "planted@two.service" in others
    assert {name: is_enabled(root, name) for name in others} == others
    assert not mark.exists()
