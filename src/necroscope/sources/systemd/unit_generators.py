"""Units that no file is named after, and that systemd's generators make at boot from other files.

Reads    /etc/fstab; /etc/init.d and the links to it in /etc/rc1.d to rc5.d; /etc/rc.local
Needs    nothing; no generator is run
Costs    part of reading the unit files

Other generators are not told: what they make depends on the kernel's command line, on disks or on programs.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_names import escape_path, parse_unit_name
from necroscope.sources.systemd.unit_tree import resolve

RUN_LEVELS = {
    "/etc/rc1.d": "rescue.target",
    "/etc/rc2.d": "multi-user.target",
    "/etc/rc3.d": "multi-user.target",
    "/etc/rc4.d": "multi-user.target",
    "/etc/rc5.d": "graphical.target",
}
# systemd mounts these itself, or leaves them to others.
NOT_FROM_FSTAB = re.compile(
    r"/proc(/sys(/kernel/random/boot_id)?|/kmsg)?|/dev(/shm|/pts|/console)?|/run(/host(/.*)?)?"
    r"|/sys(/kernel/security|/fs/(smackfs|selinux|pstore|bpf|cgroup(/.*)?)|/firmware/efi/efivars)?"
)
NETWORK = re.compile(
    "afs|ceph|cifs|davfs|gfs2?|glusterfs|lustre|ncp(fs)?|nfs4?|ocfs2|orangefs|pvfs2|smb3|smbfs|sshfs"
)
LARGEST_FSTAB = 256 << 10  # a bound of our own
_TAGS = {"LABEL": "label", "UUID": "uuid", "PARTUUID": "partuuid", "PARTLABEL": "partlabel"}
_OCTAL = re.compile(r"\\([0-7]{3})")
_NOT_IN_A_DEVICE_NAME = re.compile(r"[^A-Za-z0-9#+\-.:=@_]")
_START_LINK = re.compile(r"S\d\d(.+)")


@dataclass(frozen=True, slots=True)
class GeneratedUnit:
    """A unit that will be there after the next boot, or a link to one that is there already."""

    name: str
    path: str  # the file that it is made from
    enabled_by: tuple[str, ...] = ()
    needed_by: tuple[str, ...] = ()
    wanted_by: tuple[str, ...] = ()
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def find_generated(host: Host, native: frozenset[str]) -> tuple[GeneratedUnit, ...]:
    """What will be generated beside the native units; init scripts that have one are left to it."""
    found = [*_from_init_scripts(host, native), *_from_fstab(host)]
    if "rc-local.service" in native and _is_program(host, "/etc/rc.local"):
        found.append(GeneratedUnit("rc-local.service", "/etc/rc.local", wanted_by=("multi-user.target",)))
    first = {unit.name: unit for unit in reversed(found)}  # the generators too refuse a second of one name
    return tuple(first.values())


def why_not_generated(host: Host) -> tuple[str, ...]:
    """Why some of what generators read could not be read."""
    readings = (_read_fstab(host), host.names("/etc/init.d"))
    is_lost = (Absence.NOT_PERMITTED, Absence.BROKEN)
    return tuple(reading.reason for reading in readings if reading.absence in is_lost)


def _from_init_scripts(host: Host, native: frozenset[str]) -> Iterator[GeneratedUnit]:
    starts: dict[str, dict[str, str]] = {}  # unit -> the link that starts it -> the target that has it done
    for folder, target in RUN_LEVELS.items():
        for link in host.names(folder).value or ():
            if match := _START_LINK.fullmatch(link):
                starts.setdefault(_service(match[1]), {})[f"{folder}/{link}"] = target
    for script in host.names("/etc/init.d").value or ():
        name, path = _service(script), f"/etc/init.d/{script}"
        if name in native or not parse_unit_name(name) or not _is_program(host, path):
            continue
        links = starts.get(name, {})
        yield GeneratedUnit(
            name,
            path,
            enabled_by=tuple(sorted(links)),
            wanted_by=tuple(sorted(set(links.values()))),
            settings={
                "Unit.SourcePath": (path,),
                "Service.Type": ("forking",),
                "Service.RemainAfterExit": ("yes",),
                "Service.ExecStart": (f"{path.replace('%', '%%')} start",),
            },
        )


def _service(script: str) -> str:
    name = script.removesuffix(".sh")
    return name if parse_unit_name(name) else f"{name}.service"


def _is_program(host: Host, name: str) -> bool:
    try:
        mode = os.stat(host.path(name)).st_mode  # noqa: PTH116
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & stat.S_IXUSR)


def _read_fstab(host: Host) -> Reading[list[str]]:
    def lines(text: str) -> list[str]:
        if len(text) > LARGEST_FSTAB:
            raise ValueError("too large")
        return text.splitlines()

    return host.read("/etc/fstab", errors="replace").parsed(lines)


def _from_fstab(host: Host) -> Iterator[GeneratedUnit]:
    for line in _read_fstab(host).value or ():
        fields = [_unescape(part) for part in line.split()]
        if len(fields) < 3 or fields[0].startswith("#"):
            continue
        what, where, kind = _device(fields[0]), fields[1], fields[2]
        options = fields[3].split(",") if len(fields) > 3 else []
        if kind == "swap":
            yield _wanted(f"{escape_path(what)}.swap", "swap.target", options, {"Swap.What": (what,)})
        elif kind != "autofs" and where.startswith("/"):
            yield from _mount(host, what, where, kind, options)


def _mount(host: Host, what: str, where: str, kind: str, options: list[str]) -> Iterator[GeneratedUnit]:
    with suppress(OSError):  # the generator too goes on with the name as it is
        where = resolve(host, where)
    if NOT_FROM_FSTAB.fullmatch(where):
        return
    if where == "/":
        options = []  # those that follow do not apply to the root
    is_remote = "_netdev" in options or bool(NETWORK.fullmatch(kind.removeprefix("fuse.")))
    target = "remote-fs.target" if is_remote else "local-fs.target"
    settings = {"Mount.What": (what,), "Mount.Where": (where,), "Mount.Type": (kind,)}
    unit = escape_path(where)
    if "x-systemd.automount" in options or "comment=systemd.automount" in options:
        yield GeneratedUnit(f"{unit}.mount", "/etc/fstab", settings=settings)
        options = [option for option in options if option in ("nofail", "fail")]
        yield _wanted(f"{unit}.automount", target, options, {"Automount.Where": (where,)})
    else:
        yield _wanted(f"{unit}.mount", target, options, settings)


def _wanted(
    name: str, target: str, options: list[str], settings: Mapping[str, tuple[str, ...]]
) -> GeneratedUnit:
    wanted_by = _values(options, "x-systemd.wanted-by")
    needed_by = _values(options, "x-systemd.required-by")
    if not wanted_by and not needed_by and not _last_of(options, "noauto", "auto"):
        if _last_of(options, "nofail", "fail"):
            wanted_by = (target,)
        else:
            needed_by = (target,)
    return GeneratedUnit(name, "/etc/fstab", (), needed_by, wanted_by, settings)


def _values(options: list[str], key: str) -> tuple[str, ...]:
    return tuple(option.partition("=")[2] for option in options if option.startswith(f"{key}="))


def _last_of(options: list[str], yes: str, no: str) -> bool:
    chosen = [option for option in options if option in (yes, no)]
    return bool(chosen) and chosen[-1] == yes


def _unescape(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)


def _device(what: str) -> str:
    """The file of a device that is named by what is written on it."""
    tag, _, value = what.partition("=")
    if tag not in _TAGS or not value:
        return what
    name = value.strip("\"'")
    encoded = _NOT_IN_A_DEVICE_NAME.sub(
        lambda match: match[0] if ord(match[0]) > 127 else f"\\x{ord(match[0]):02x}", name
    )
    return f"/dev/disk/by-{_TAGS[tag]}/{encoded}"
