"""Units of a tree, against what systemd says about the same tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.machines.image_roots import (
    PLANTED,
    copied_root,
    is_enabled,
    list_unit_files,
    plant,
    random_root,
    set_traps,
    why_no_systemctl,
)
from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_files import UnitFile, read_unit_files
from tests.sources.conftest import Tree

with_systemctl = pytest.mark.skipif(why_no_systemctl() is not None, reason=str(why_no_systemctl()))

ETC, RUN, USR = "/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system"
SERVICE = "[Service]\nExecStart=/bin/true\n"

STATES = {
    "planted-by-preset.service": ("enabled", "enabled"),
    "planted-by-link.service": ("enabled", "disabled"),
    "planted-against-preset.service": ("enabled", "disabled"),
    "planted-disabled.service": ("disabled", "disabled"),
    "planted-masked.service": ("masked", "disabled"),
    "planted-emptied.service": ("masked", "disabled"),
    "planted-masked-runtime.service": ("masked-runtime", "disabled"),
    "planted-static.service": ("static", ""),
    "planted-drop-ins.service": ("disabled", "disabled"),
    "planted-broken.service": ("static", ""),
    "planted-named.service": ("enabled", "disabled"),
    "planted-alias.service": ("alias", ""),
    "planted-also.service": ("indirect", "disabled"),
    "planted-also.socket": ("disabled", "disabled"),
    "planted-linked.service": ("linked", "disabled"),
    "planted-linked-runtime.service": ("linked-runtime", "disabled"),
    "planted@.service": ("enabled", "enabled"),
    "planted-runtime.service": ("enabled-runtime", "disabled"),
    "planted-bad.service": ("bad", "disabled"),
    "planted-dangling.service": ("bad", "disabled"),
    "planted-own-name.service": ("bad", "disabled"),  # an alias of itself
    "planted-generated.service": ("generated", ""),
    "planted-transient.service": ("transient", ""),
}

# Reads a root and says what it opened outside of it, and what it started.
WATCHED = """
import os
import sys
from pathlib import Path
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_files import read_unit_files
from necroscope.sources.systemd.unit_obstacles import find_obstacles
root = sys.argv[1]
strange = []
def watch(event, arguments):
    starts = event in ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system")
    reads = event in ("open", "os.listdir", "os.scandir")
    name = str(arguments[0])
    if reads and name.startswith("/proc/self/fd/"):
        name = os.readlink(name)
    if starts or (reads and not name.startswith(root + "/")):
        strange.append((event, name))
host = Host(Path(root))
sys.addaudithook(watch)
units = read_unit_files(host).value
obstacles = [found for unit in units for found in find_obstacles(host, unit)]
print(len(units), len(obstacles), strange)
"""


def read(root: Path) -> dict[str, UnitFile]:
    reading = read_unit_files(Host(root))
    assert reading.value is not None, reading.reason
    return {unit.name: unit for unit in reading.value}


def differences(root: Path) -> list[str]:
    """Where we and systemd are not of one mind."""
    ours, theirs = read(root), list_unit_files(root)
    found = [
        f"{name}: systemd {theirs.get(name)}, we {(unit.state, unit.preset)}"
        for name, unit in ours.items()
        if name in theirs and theirs[name] != (unit.state, unit.preset)
    ]
    found += [f"{name}: we do not have it" for name in theirs.keys() - ours.keys()]
    for name in ours.keys() - theirs.keys():
        if ours[name].state != "generated" and is_enabled(root, name) != ours[name].state:
            found.append(f"{name}: systemd {is_enabled(root, name)}, we {ours[name].state}")
    return found


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if reason := why_no_systemctl():
        pytest.skip(reason)
    root = copied_root(tmp_path_factory.mktemp("image"))
    plant(root, PLANTED)
    return root


def test_every_planted_unit_and_every_other_is_told_as_systemd_tells_it(planted: Path) -> None:
    assert differences(planted) == []
    units = read(planted)
    assert {name: (units[name].state, units[name].preset) for name in STATES} == STATES


@with_systemctl
def test_of_this_machine_too() -> None:
    assert differences(Path("/")) == []


@with_systemctl
@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_of_a_tree_in_disorder_too(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert differences(random_root(Path(folder), seed)) == []


def test_nothing_is_run_and_nothing_is_read_outside_of_the_root(planted: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    programs = ("usr/bin/true", "usr/bin/systemctl", "usr/lib/systemd/systemd", "etc/init.d/agent")
    plant(planted, dict.fromkeys(programs, "#!/bin/sh\n"))
    for name in programs:
        (planted / name).chmod(0o755)
    assert set_traps(planted, mark) >= len(programs)
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(planted)], check=True, capture_output=True, text=True
    )
    units, obstacles, strange = done.stdout.split(maxsplit=2)
    assert int(units) > len(STATES)
    assert int(obstacles) > 0
    assert strange.strip() == "[]"
    assert not mark.exists()


def test_links_in_a_folder_that_is_a_link_count_for_the_boot_and_not_for_the_state(tmp_path: Path) -> None:
    if reason := why_no_systemctl():
        pytest.skip(reason)
    text = "[Service]\nExecStart=/x\n[Install]\nWantedBy=x.target\n"
    plant(
        copied_root(tmp_path),
        {
            "usr/lib/systemd/system/planted-far.service": text,
            "opt/wants/planted-far.service": Path("/usr/lib/systemd/system/planted-far.service"),
            "etc/systemd/system/x.target.wants": Path("/opt/wants"),
        },
    )
    unit = read(tmp_path)["planted-far.service"]
    assert unit.state == is_enabled(tmp_path, unit.name) == "disabled"
    assert unit.enabled_by == (f"{ETC}/x.target.wants/planted-far.service",)
    assert unit.wanted_by == ("x.target",)
    assert differences(tmp_path) == []


def test_what_enables_a_unit(planted: Path) -> None:
    units = read(planted)
    wants = f"{ETC}/multi-user.target.wants"
    assert units["planted-by-link.service"].enabled_by == (f"{wants}/planted-by-link.service",)
    assert units["planted-named.service"].enabled_by == (f"{ETC}/planted-alias.service",)
    assert units["planted-runtime.service"].enabled_by == (
        f"{RUN}/multi-user.target.wants/planted-runtime.service",
    )
    both = (f"{wants}/planted@one.service", f"{wants}/planted@two.service")
    assert units["planted@.service"].enabled_by == both
    assert units["planted@two.service"].enabled_by == both[1:]
    assert units["planted-disabled.service"].enabled_by == ()


def test_the_file_that_counts(planted: Path) -> None:
    units = read(planted)
    paths = {name.removeprefix("planted-").partition(".")[0]: unit.path for name, unit in units.items()}
    assert paths["by-link"] == f"{USR}/planted-by-link.service"
    assert paths["masked"] == f"{ETC}/planted-masked.service"
    assert paths["masked-runtime"] == f"{RUN}/planted-masked-runtime.service"
    assert paths["linked"] == "/opt/planted-linked.service"
    assert paths["alias"] == f"{USR}/planted-named.service"
    assert units["planted@two.service"].path == f"{USR}/planted@.service"


def test_rules_of_presets_are_named(planted: Path) -> None:
    units = read(planted)
    file = "/usr/lib/systemd/system-preset/10-planted.preset"
    assert units["planted-by-preset.service"].preset_rule == f"{file}: enable planted-by-pre*"
    assert units["planted-by-link.service"].preset_rule == f"{file}: disable planted-*"
    assert units["planted@.service"].preset_rule == ""  # systemd's own default
    assert units["planted-static.service"].preset_rule == ""


def test_an_instance_without_a_file_has_the_preset_of_its_template(tree: Tree) -> None:
    host = tree(
        {
            f"{USR}/a@.service": SERVICE + "[Install]\nWantedBy=b.target\n",
            f"{ETC}/b.target.wants/a@x.service": Path(f"{USR}/a@.service"),
            "/etc/systemd/system-preset/1.preset": "enable a@.service\ndisable *\n",
        }
    )
    units = read(host.root)
    assert (units["a@x.service"].state, units["a@x.service"].preset) == ("enabled", "enabled")


def test_drop_ins_apply_in_order_and_the_nearest_of_one_name_counts(tree: Tree) -> None:
    host = tree(
        {
            f"{USR}/a-b-c.service": "[Service]\nExecStart=/bin/a\nEnvironment=N=0\n",
            f"{USR}/a-b-c.service.d/20-x.conf": "[Service]\nEnvironment=N=hidden\n",
            f"{ETC}/a-b-c.service.d/20-x.conf": "[Service]\nEnvironment=N=3\n",
            f"{ETC}/a-b-.service.d/20-x.conf": "[Service]\nEnvironment=N=hidden\n",
            f"{ETC}/a-.service.d/30-y.conf": "[Service]\nEnvironment=N=4\n",
            f"{USR}/service.d/10-all.conf": "[Service]\nEnvironment=N=1\n",
            f"{USR}/alias.service": Path("a-b-c.service"),
            f"{ETC}/alias.service.d/15-alias.conf": "[Service]\nEnvironment=N=2\n",
            f"{ETC}/a-b-c.service.d/readme": "",
        }
    )
    units = read(host.root)
    assert units["a-b-c.service"].drop_ins == (
        f"{USR}/service.d/10-all.conf",
        f"{ETC}/alias.service.d/15-alias.conf",
        f"{ETC}/a-b-c.service.d/20-x.conf",
        f"{ETC}/a-.service.d/30-y.conf",
    )
    assert units["a-b-c.service"].settings["Service.Environment"] == ("N=0", "N=1", "N=2", "N=3", "N=4")
    assert units["alias.service"].settings == units["a-b-c.service"].settings


def test_who_needs_and_who_wants_a_unit(tree: Tree) -> None:
    host = tree(
        {
            f"{USR}/a.service": SERVICE,
            f"{USR}/b.service": "[Unit]\nRequires=a.service\nWants=t@x.service\n" + SERVICE,
            f"{USR}/c.service": "[Unit]\nBindsTo='alias.service'\n" + SERVICE,
            f"{USR}/alias.service": Path("a.service"),
            f"{USR}/d.service": "[Unit]\nRequisite=x.service\nWants=a.service\n" + SERVICE,
            f"{ETC}/d.service": Path("/dev/null"),  # a masked unit wants nothing
            f"{USR}/multi-user.target.wants/a.service": Path("../a.service"),
            f"{RUN}/e.target.requires/a.service": Path(f"{USR}/a.service"),
            f"{USR}/f.target.wants/a.service": Path("../a.service"),
            f"{ETC}/f.target.wants/a.service": Path("/dev/null"),
            f"{USR}/a.timer": "[Timer]\nOnBootSec=1\n",
            f"{USR}/other.path": "[Path]\nPathExists=/x\nUnit=a.service\n",
            f"{USR}/t.socket": "[Socket]\nListenStream=1\nAccept=yes\n",
            f"{USR}/t@.service": "[Unit]\nWants=%i.service\n" + SERVICE,
            f"{ETC}/g.target.wants/t@a.service": Path(f"{USR}/t@.service"),
        }
    )
    units = read(host.root)
    assert units["a.service"].needed_by == ("b.service", "c.service", "e.target")
    assert units["a.service"].wanted_by == ("a.timer", "multi-user.target", "other.path", "t@a.service")
    assert units["alias.service"].needed_by == units["a.service"].needed_by
    assert units["t@.service"].wanted_by == ("b.service", "g.target", "t.socket")


def test_generated_units_are_told_from_the_files_that_they_are_made_of(tree: Tree) -> None:
    script = "#!/bin/sh\n"
    host = tree(
        {
            USR: None,
            f"{USR}/native.service": SERVICE,
            f"{USR}/rc-local.service": SERVICE,
            "/etc/init.d/agent": script,
            "/etc/init.d/native": script,
            "/etc/init.d/README": "no program",
            "/etc/rc.local": script,
            "/etc/rc2.d/S01agent": Path("../init.d/agent"),
            "/etc/rc5.d/S01agent": Path("../init.d/agent"),
            "/etc/rc0.d/K01agent": Path("../init.d/agent"),
            "/etc/fstab": "/dev/vdb /srv/my-data ext4 nofail 0 0\n/swap none swap\n# /x /y z\n",
        }
    )
    for name in ("etc/init.d/agent", "etc/init.d/native", "etc/rc.local"):
        (host.root / name).chmod(0o755)
    units = read(host.root)
    generated = {name for name, unit in units.items() if unit.state == "generated"}
    assert generated == {"agent.service", r"srv-my\x2ddata.mount", "swap.swap"}
    agent = units["agent.service"]
    assert (agent.path, agent.wanted_by) == ("/etc/init.d/agent", ("graphical.target", "multi-user.target"))
    assert agent.enabled_by == ("/etc/rc2.d/S01agent", "/etc/rc5.d/S01agent")
    assert agent.settings["Service.ExecStart"] == ("/etc/init.d/agent start",)
    assert units[r"srv-my\x2ddata.mount"].wanted_by == ("local-fs.target",)
    assert units["swap.swap"].needed_by == ("swap.target",)
    assert units["rc-local.service"].wanted_by == ("multi-user.target",)


def test_a_newer_systemd_knows_more(tree: Tree) -> None:
    files = {
        f"{USR}/a.service": SERVICE + "[Install]\nUpheldBy=b.target\n",
        "/usr/lib/systemd/system-preset/1.preset": "ignore a.service\n",
    }
    host = tree(files)
    assert read(host.root)["a.service"].state == "static"
    tree({"/usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-257.so": ""})
    unit = read(host.root)["a.service"]
    assert (unit.state, unit.preset) == ("disabled", "")
    assert unit.preset_rule == "/usr/lib/systemd/system-preset/1.preset: ignore a.service"
    tree({f"{ETC}/b.target.upholds/a.service": Path(f"{USR}/a.service")})
    assert read(host.root)["a.service"].state == "enabled"


def test_a_tree_without_systemd(tmp_path: Path) -> None:
    reading = read_unit_files(Host(tmp_path))
    assert (reading.absence, reading.detail[:10]) == (Absence.NOT_SUPPORTED, "no systemd")


def test_folders_that_may_not_be_read_are_named(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    host = tree({f"{USR}/a.service": SERVICE, f"{ETC}/b.service": SERVICE})
    scandir = os.scandir

    def guarded(path: str) -> object:
        if str(Path(path).readlink()).endswith(ETC):  # a folder below a root is opened by its descriptor
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    reading = read_unit_files(host)
    assert [unit.name for unit in reading.value or ()] == ["a.service"]
    assert reading.detail == f"not permitted: {ETC}: Permission denied"
    (host.root / f"{USR}/a.service".lstrip("/")).unlink()
    (host.root / USR.lstrip("/")).rmdir()
    assert read_unit_files(host).absence is Absence.NOT_PERMITTED


def test_hostile_trees_neither_crash_nor_hang(tree: Tree) -> None:
    host = tree(
        {
            f"{USR}/binary.service": bytes(range(256)) * 20,
            f"{USR}/cut.service": "[Service]\nExecStart=/bin/a \\",
            f"{USR}/huge.service": "[Unit]\n" + "Description=x\n" * 400_000,
            f"{ETC}/loop.service": Path("loop.service"),
            f"{ETC}/round.service": Path("about.service"),
            f"{ETC}/about.service": Path("round.service"),
            f"{ETC}/out.service": Path("/../../../../../etc/passwd"),
            f"{ETC}/fine.service.d": Path("fine.service.d"),
            f"{USR}/fine.service": SERVICE,
            f"{USR}/folder.service": None,
            f"{USR}/{'x' * 247}.service": SERVICE,
            f"{USR}/\udcff.service": SERVICE,
            f"{USR}/fine.service.d/\udcff.conf": "[Unit]\nDescription=y\n",
            f"{ETC}/\udcff.wants/fine.service": Path("/x"),
            "/etc/fstab": bytes(range(256)),
            "/etc/systemd/system-preset/1.preset": bytes(range(256)),
        }
    )
    os.mkfifo(host.root / "usr/lib/systemd/system/pipe.service")
    (host.root / "usr/lib/systemd/system/fine.service.d").mkdir(exist_ok=True)
    os.mkfifo(host.root / "usr/lib/systemd/system/piped.socket")
    started = time.monotonic()
    units = read(host.root)
    assert time.monotonic() - started < 10
    bad = {name for name, unit in units.items() if unit.state == "bad"}
    assert {"binary.service", "huge.service", "loop.service", "round.service", "out.service"} <= bad
    assert units["fine.service"].settings["Unit.Description"] == ("y",)
    assert units["fine.service"].drop_ins == (f"{USR}/fine.service.d/\ufffd.conf",)
    assert not {"pipe.service", "folder.service"} & units.keys()
    "".join(map(str, units.values())).encode()  # all of it can be printed


def test_reading_is_quick(planted: Path) -> None:
    """The target is 100 ms for 400 units; the bound here is for a busy machine."""
    started = time.perf_counter()
    units = read(planted)
    assert (time.perf_counter() - started) / len(units) < 0.002
