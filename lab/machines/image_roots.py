"""Roots of machines that do not run: a copy of this machine's units, random ones, and Debian's own.

    root = copied_root(folder)
    plant(root, PLANTED)
    list_unit_files(root)  # what systemd itself says, without running anything in the root

Needs    systemctl; of a Debian root also root, debootstrap and a mirror
Costs    0.1 s for a copy, 45 s for a Debian root (measured)
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
PACKAGES = "systemd,dbus"

UNIT_FOLDERS = ("usr/lib/systemd/system", "usr/lib/systemd/system-preset", "etc/systemd/system")
OTHER_FILES = ("etc/passwd", "etc/group", "etc/nsswitch.conf", "usr/lib/sysusers.d", "usr/lib/tmpfiles.d")

# A file's text or bytes; a Path is where a link leads; None is a folder.
Content = str | bytes | Path | None

SERVICE = "[Service]\nExecStart=/usr/bin/true\n"
WANTED = SERVICE + "[Install]\nWantedBy=multi-user.target\n"
ETC, RUN, USR = "etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system"

# One unit for each word that systemd has for a unit file, and for each way to get there.
PLANTED: Mapping[str, Content] = {
    "usr/lib/systemd/system-preset/10-planted.preset": "enable planted-by-pre*\ndisable planted-*\n",
    f"{USR}/planted-by-preset.service": WANTED,
    f"{ETC}/multi-user.target.wants/planted-by-preset.service": Path(f"/{USR}/planted-by-preset.service"),
    f"{USR}/planted-by-link.service": WANTED,
    f"{ETC}/multi-user.target.wants/planted-by-link.service": Path(f"/{USR}/planted-by-link.service"),
    f"{USR}/planted-against-preset.service": WANTED,
    f"{ETC}/basic.target.requires/planted-against-preset.service": Path(
        f"/{USR}/planted-against-preset.service"
    ),
    f"{USR}/planted-disabled.service": WANTED,
    f"{USR}/planted-masked.service": WANTED,
    f"{ETC}/planted-masked.service": Path("/dev/null"),
    f"{USR}/planted-emptied.service": WANTED,
    f"{ETC}/planted-emptied.service": "",
    f"{USR}/planted-masked-runtime.service": WANTED,
    f"{RUN}/planted-masked-runtime.service": Path("/dev/null"),
    f"{USR}/planted-static.service": SERVICE,
    f"{USR}/planted-drop-ins.service": SERVICE,
    f"{ETC}/planted-drop-ins.service.d/10-install.conf": "[Install]\nWantedBy=multi-user.target\n",
    f"{USR}/planted-drop-ins.service.d/20-other.conf": "[Service]\nEnvironment=A=1\n",
    f"{USR}/planted-broken.service": "[Service]\nExecStart=/usr/bin/is-not-there\n",
    f"{USR}/planted-named.service": SERVICE + "[Install]\nAlias=planted-alias.service\n",
    f"{ETC}/planted-alias.service": Path(f"/{USR}/planted-named.service"),
    f"{USR}/planted-also.service": SERVICE + "[Install]\nAlso=planted-also.socket\n",
    f"{USR}/planted-also.socket": "[Socket]\nListenStream=1\n[Install]\nWantedBy=sockets.target\n",
    "opt/planted-linked.service": SERVICE,
    f"{ETC}/planted-linked.service": Path("/opt/planted-linked.service"),
    "opt/planted-linked-runtime.service": WANTED,
    f"{RUN}/planted-linked-runtime.service": Path("/opt/planted-linked-runtime.service"),
    f"{USR}/planted@.service": WANTED.replace("[Install]", "[Install]\nDefaultInstance=one"),
    f"{ETC}/multi-user.target.wants/planted@one.service": Path(f"/{USR}/planted@.service"),
    f"{ETC}/multi-user.target.wants/planted@two.service": Path(f"/{USR}/planted@.service"),
    f"{USR}/planted-runtime.service": WANTED,
    f"{RUN}/multi-user.target.wants/planted-runtime.service": Path(f"/{USR}/planted-runtime.service"),
    f"{ETC}/planted-bad.service": "[Service\nExecStart=/usr/bin/true\n",
    f"{ETC}/planted-dangling.service": Path("/usr/lib/systemd/system/planted-gone.service"),
    f"{USR}/planted-own-name.service": WANTED,
    f"{ETC}/planted-own-name.service": Path(f"/{USR}/planted-own-name.service"),
    "run/systemd/generator/planted-generated.service": SERVICE,
    "run/systemd/transient/planted-transient.service": SERVICE,
}

NAMES = (
    *("a.service", "b.service", "c-d-e.service", "t@.service", "t@x.service", "t@y.service", "u@.service"),
    *("u@x.service", "s.socket", "m.mount", "g.target", "k.timer", "v@.mount", "p.path", "z.slice"),
)
FOLDERS = {
    ETC: 8,
    RUN: 4,
    USR: 8,
    "usr/local/lib/systemd/system": 2,
    "etc/systemd/system.control": 1,
    "run/systemd/system.control": 1,
    "etc/systemd/system.attached": 1,
    "run/systemd/system.attached": 1,
    "run/systemd/transient": 1,
    "run/systemd/generator": 1,
    "run/systemd/generator.early": 1,
    "run/systemd/generator.late": 1,
}
INSTALL = (
    *("WantedBy=g.target", "RequiredBy=g.target", "WantedBy=", "WantedBy = g.target \\\n# comment\n k.timer"),
    *(
        "Alias=b.service",
        "Alias='u@x.service' \"t@y.service\"",
        "Alias=",
        "Also=a.service",
        "Also=%n",
        "Also=",
    ),
    *("Also=not/a/name", "DefaultInstance=x", "DefaultInstance=", "DefaultInstance=a/b", "nothing", "=value"),
    *("; comment", "UpheldBy=g.target"),
)
ODD_FILES = (
    b"",
    b"[Unit\nDescription=no end\n",
    b"[Unit]\nDescription=\xff\xfe\n",
    b"# \xff\n[Install]\nWantedBy=g.target\n",
    b"\xef\xbb\xbf[Install]\r\nWantedBy=g.target\r\n",
    b"\0[Install]\0WantedBy=g.target\0",
    b"[In'stall]\nWantedBy=g.target\n",
    b"[Install]\nWantedBy=" + b"x" * (1 << 20),
    b"[Unit]\nDescription=cut\\",
)
PATTERNS = (*NAMES, "*", "*.service", "t@*", "[ab].service", "[!a].service", "[^a].service", "?.socket", "[")


def why_no_systemctl() -> str | None:
    """Say why systemd cannot be asked about a root here, or None when it can."""
    return None if shutil.which("systemctl") else "systemctl is missing: apt-get install systemd"


def why_no_debian_root() -> str | None:
    """Say why no Debian root can be made here, or None when one can."""
    if os.geteuid() != 0:
        return "not root"
    return None if shutil.which("debootstrap") else "debootstrap is missing: apt-get install debootstrap"


def plant(root: Path, files: Mapping[str, Content]) -> None:
    """Put files, links and folders into a root."""
    for name, content in files.items():
        path = root / name.lstrip("/")
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            path.symlink_to(content)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


def copied_root(folder: Path) -> Path:
    """A root with this machine's own units, presets, users and groups, and no program at all."""
    for name in (*UNIT_FOLDERS, *OTHER_FILES):
        source, target = Path("/", name), folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, target)
    plant(folder, {"lib": Path("usr/lib"), **_library()})
    return folder


def _library() -> Mapping[str, Content]:
    """What tells the version of a root's systemd: that of the systemctl which is asked about it."""
    shown = subprocess.run(["systemctl", "--version"], check=True, capture_output=True, text=True).stdout
    return {f"usr/lib/systemd/libsystemd-shared-{shown.split()[1]}.so": ""}


def debian_root(folder: Path, suite: str) -> Path:
    """A root as debootstrap makes it, with systemd in it."""
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, str(folder), MIRROR]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"debootstrap {suite} failed: {done.stdout[-500:]}{done.stderr[-500:]}")
    return folder


def set_traps(root: Path, mark: Path) -> int:
    """Replace every program of a root by one that leaves a mark, and say how many there are."""
    trap = f"#!/bin/sh\ntouch '{mark}'\n"
    count = 0
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink() and path.is_file() and path.stat().st_mode & 0o111:
                path.write_text(trap)
                count += 1
    return count


def list_unit_files(root: Path) -> dict[str, tuple[str, str]]:
    """The state and the preset of every unit file, by systemd."""
    command = ["systemctl", f"--root={root}", "list-unit-files", "--no-legend", "--no-pager", "--full"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    rows = (line.split() for line in done.stdout.splitlines())
    return {name: (state, "" if preset in ("-", "ignored") else preset) for name, state, preset in rows}


def is_enabled(root: Path, name: str) -> str:
    """The state of one unit, by systemd; empty where it does not come to it."""
    command = ["systemctl", f"--root={root}", "is-enabled", name]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def random_root(folder: Path, seed: int) -> Path:
    """A small root of a few units in all kinds of disorder; the same seed makes the same root."""
    dice = random.Random(seed)
    plant(folder, _library())
    plant(folder, {"opt/empty.service": "", "opt/file": "x", "opt/folder": None, "opt/loop": Path("loop")})
    plant(folder, {"opt/null.service": Path("/dev/null"), "opt/units": Path("../etc/systemd/system")})
    plant(folder, {f"opt/{name}": _unit(dice) for name in NAMES if dice.random() < 0.5})
    folders = {name: weight for name, weight in FOLDERS.items() if name == ETC or dice.random() < 0.8}
    plant(folder, dict.fromkeys(folders))
    if dice.random() < 0.6:
        plant(folder, {"lib": Path("usr/lib")})
    elif dice.random() < 0.5:
        folders["lib/systemd/system"] = 4
    if dice.random() < 0.5:
        plant(folder, {"dev/null": ""})
    wanted: dict[str, Content] = {}
    for _ in range(dice.randint(3, 25)):
        wanted[f"{_one_of(dice, folders)}/{dice.choice(NAMES)}"] = _unit_or_link(dice)
    for _ in range(dice.randint(0, 10)):
        dependency = dice.choice(("g.target.wants", "g.target.requires", "t@.service.wants"))
        wanted[f"{_one_of(dice, folders)}/{dependency}/{dice.choice(NAMES)}"] = Path(_target(dice))
    for _ in range(dice.randint(0, 5)):
        drop_in = f"{dice.choice(NAMES)}.d/{dice.choice('12')}.conf"
        leads = Path(dice.choice(("/opt/a.service", "/dev/null", "/opt/gone")))
        wanted[f"{_one_of(dice, folders)}/{drop_in}"] = _unit(dice) if dice.random() < 0.8 else leads
    for top in ("etc", "run", "usr/lib", "usr/local/lib"):
        for name in ("10-a.preset", "90-b.preset", "no-preset"):
            if dice.random() < 0.3:
                wanted[f"{top}/systemd/system-preset/{name}"] = _presets(dice)
    plant(folder, wanted)
    return folder


def _one_of(dice: random.Random, weights: Mapping[str, int]) -> str:
    return dice.choices(list(weights), list(weights.values()))[0]


def _unit(dice: random.Random) -> bytes:
    if dice.random() < 0.15:
        return dice.choice(ODD_FILES)
    lines = ["[Unit]", "Description=x", "[Service]", "ExecStart=/bin/true"]
    if dice.random() < 0.7:
        lines += ["[Install]", *dice.choices(INSTALL, k=dice.choice((0, 1, 1, 1, 2, 3)))]
    return "\n".join([*lines, ""]).encode()


def _unit_or_link(dice: random.Random) -> Content:
    kind = dice.random()
    if kind < 0.55:
        return _unit(dice)
    return Path(_target(dice)) if kind < 0.97 else None


def _target(dice: random.Random) -> str:
    name = dice.choice(NAMES)
    odd = ("empty.service", "gone.service", "file/x.service", "loop/x.service", "folder", "null.service")
    return dice.choice(
        (
            *("/dev/null", "/dev/null", name, f"./{name}", f"../system/{name}", "/", ".."),
            *(
                f"/{ETC}/{name}",
                f"/{USR}/{name}",
                f"/{USR}/{name}",
                f"/{RUN}/{name}",
                f"/lib/systemd/system/{name}",
            ),
            *(f"/opt/{name}", f"/opt/units/{name}", f"/opt/{dice.choice(odd)}", f"/opt/{dice.choice(odd)}"),
        )
    )


def _presets(dice: random.Random) -> str:
    actions = ("enable", "disable", "enable", "disable", "ignore", "# enable", "unknown")
    rules = [f"{dice.choice(actions)} {dice.choice(PATTERNS)}" for _ in range(dice.randint(0, 4))]
    return "\n".join([*rules, "enable t@.service x y" if dice.random() < 0.2 else "", ""])
