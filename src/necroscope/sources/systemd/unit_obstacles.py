"""Why a unit cannot do its job at all, as far as files tell.

Reads    programs, environment files, folders, users and conditions that the unit's settings name
Needs    nothing; nothing is run
Costs    about 0.1 ms per service

What is known only when the unit starts is left out: files below /run or /dev of an image or below what is
mounted at boot, names with specifiers that only systemd knows, roots of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import PurePosixPath

from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_accounts import is_known
from necroscope.sources.systemd.unit_commands import DEFAULT_PATH, parse_commands, why_not_run
from necroscope.sources.systemd.unit_dependencies import NEEDS, triggered_unit
from necroscope.sources.systemd.unit_files import UnitFile
from necroscope.sources.systemd.unit_names import UnitName, escape_path, parse_unit_name
from necroscope.sources.systemd.unit_settings import is_true, split_words, words_of
from necroscope.sources.unit_conditions import VOLATILE, exists, failed_assertions

STARTING = ("ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost")
# With one of these a service may see other files than the machine does.
OTHER_FILES = (
    "RootDirectory",
    "RootImage",
    "MountImages",
    "ExtensionImages",
    "ExtensionDirectories",
    "BindPaths",
    "BindReadOnlyPaths",
)
OWN_FOLDERS = {
    "StateDirectory": "/var/lib",
    "CacheDirectory": "/var/cache",
    "LogsDirectory": "/var/log",
    "ConfigurationDirectory": "/etc",
    "RuntimeDirectory": "/run",
}
TMPFILES = ("/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/local/lib/tmpfiles.d", "/usr/lib/tmpfiles.d")
_SPECIFIER = re.compile(r"%(.)")
_TOLD_BY_THE_NAME = "ijnNp"
_FOLDERS = {"E": "/etc", "S": "/var/lib", "C": "/var/cache", "L": "/var/log", "t": "/run", "%": "%%"}
# Others may come without a file: from the kernel, from a program, from a generator.
WITH_FILES = ("service", "socket", "timer", "path")
# What is below is usually mounted there.
MOUNT_POINTS = re.compile(r"/(mnt|media|snap|nix|net|misc|cdrom)/.*")


def find_obstacles(host: Host, unit: UnitFile, units: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """One short sentence for each. Nothing of a masked unit, which nobody wants to start.

    `units` has the states of all unit files by name; without it, what the unit needs of others is not told.
    """
    if unit.state.startswith("masked"):
        return ()
    if unit.state == "bad":
        return (f"systemctl calls {unit.path} a bad unit file",)
    found = list(failed_assertions(host, unit.settings))
    if units is not None:
        found += _find_missing_peers(unit, units)
    if unit.name.endswith(".socket") and not any(key.startswith("Socket.Listen") for key in unit.settings):
        found.append("it has no ListenStream= or other Listen setting")
    if unit.name.endswith(".service"):
        found += _of_shape(unit)
        found += _of_commands(host, unit, units or {})
        found += _of_environment(host, unit, units or {})
        found += _of_accounts(host, unit)
        found += _of_folder(host, unit, units or {})
    return tuple(dict.fromkeys(found))


def _values(unit: UnitFile, key: str) -> tuple[str, ...]:
    return unit.settings.get(f"Service.{key}", ())


def _last(unit: UnitFile, key: str) -> str:
    values = _values(unit, key)
    return values[-1] if values else ""


def _expanded(unit: UnitFile, text: str) -> str | None:
    """The text with its specifiers resolved; None where only systemd knows one of them."""
    parts = parse_unit_name(unit.name)
    if "%" not in text or parts is None:
        return text
    text = _SPECIFIER.sub(lambda match: _FOLDERS.get(match[1], match[0]), text)
    needed = set(_SPECIFIER.findall(text)) - {"%"}
    if needed - set(_TOLD_BY_THE_NAME) or (parts.is_template and needed - {"p", "j"}):
        return None
    return parts.expand(text)


def _of_shape(unit: UnitFile) -> Iterator[str]:
    """What systemd refuses before it looks at any file."""
    starts = _values(unit, "ExecStart")
    type_ = _last(unit, "Type") or ("" if starts else "oneshot")
    has_action = "Unit.SuccessAction" in unit.settings
    if not starts:
        if type_ != "oneshot" or not (_values(unit, "ExecStop") or has_action):
            yield "it has no ExecStart="
        elif not has_action and not is_true(_values(unit, "RemainAfterExit")):
            yield "it has no ExecStart=, which only RemainAfterExit=yes allows"
    elif len(starts) > 1 and type_ != "oneshot":
        yield "it has more than one ExecStart=, which only Type=oneshot allows"
    if type_ == "dbus" and not _last(unit, "BusName"):
        yield "it has no BusName=, which Type=dbus needs"


def _of_commands(host: Host, unit: UnitFile, units: Mapping[str, str]) -> Iterator[str]:
    if any(_values(unit, key) for key in OTHER_FILES):
        return
    own_path = tuple(part for value in _values(unit, "ExecSearchPath") for part in value.split(":"))
    for key in STARTING:
        for value in _values(unit, key):
            for command in parse_commands(value):
                program = _expanded(unit, command.program)
                if command.may_fail or not program or "$" in program or VOLATILE.fullmatch(program):
                    continue
                reason = why_not_run(host, program, own_path or DEFAULT_PATH)
                if reason and not (
                    exists(host, program) is False and _is_mounted_later(host, unit, program, units)
                ):
                    yield f"{key}={program} cannot be run: {reason}"


def _of_environment(host: Host, unit: UnitFile, units: Mapping[str, str]) -> Iterator[str]:
    for value in _values(unit, "EnvironmentFile"):
        name = None if value.startswith("-") else _expanded(unit, value.strip("\"'"))
        if name and not re.search(r"[*?\[]", name) and _is_missing(host, unit, name, units):
            yield f"EnvironmentFile={name} is not there"


def _of_accounts(host: Host, unit: UnitFile) -> Iterator[str]:
    if is_true(_values(unit, "DynamicUser")):
        return
    accounts = [("User", "passwd", _last(unit, "User")), ("Group", "group", _last(unit, "Group"))]
    groups = words_of(_values(unit, "SupplementaryGroups"))
    accounts += [("SupplementaryGroups", "group", group) for group in groups]
    for key, kind, value in accounts:
        name = _expanded(unit, value)
        if name and is_known(host, name, kind) is False:
            what = "user" if kind == "passwd" else "group"
            yield f"{key}={name}: there is no such {what}"


def _of_folder(host: Host, unit: UnitFile, units: Mapping[str, str]) -> Iterator[str]:
    value = _last(unit, "WorkingDirectory").strip("\"'")
    name = _expanded(unit, value)
    if not name or name.startswith("-") or any(_values(unit, key) for key in OTHER_FILES):
        return
    made = {
        f"{top}/{word.partition(':')[0]}"
        for key, top in OWN_FOLDERS.items()
        for word in words_of(_values(unit, key))
    }
    # Made with the folders above it, and what is below it is for the service to make.
    is_own = any(f"{name}/".startswith(f"{folder}/") or folder.startswith(f"{name}/") for folder in made)
    if not is_own and _is_missing(host, unit, name, units):
        yield f"WorkingDirectory={name} is not there"


def _is_missing(host: Host, unit: UnitFile, name: str, units: Mapping[str, str]) -> bool:
    """Whether a file is not there, and nothing says that it will be at boot."""
    if VOLATILE.fullmatch(name) or exists(host, name) is not False:
        return False
    is_made = any(map(partial(_is_made_by, name), _tmpfiles(host)))
    return not is_made and not _is_mounted_later(host, unit, name, units)


def _tmpfiles(host: Host) -> Iterator[str]:
    for folder in TMPFILES:
        for file in host.names(folder).value or ():
            if file.endswith(".conf"):
                yield from (host.read(f"{folder}/{file}", errors="replace").value or "").splitlines()


def _is_made_by(name: str, line: str) -> bool:
    words = split_words(line) if name in line else []
    return len(words) > 1 and words[0][0] in "fFdDvqQLCc" and words[1].rstrip("/") == name


def _find_missing_peers(unit: UnitFile, units: Mapping[str, str]) -> Iterator[str]:
    """Units without which systemd refuses to start this one."""
    parts = parse_unit_name(unit.name)
    if parts is None:
        return
    for key in NEEDS:
        for word in words_of(unit.settings.get(key, ())):
            name = _unit_named(parts, word)
            if reason := _why_not_there(name, units):
                yield f"{key.removeprefix('Unit.')}={name}: {reason}"
    if parts.type == "socket":
        name = _unit_named(parts, triggered_unit(parts, unit.settings))
        if reason := _why_not_there(name, units):
            yield f"{name}, which it starts: {reason}"


def _unit_named(parts: UnitName, text: str) -> str:
    """The name of a unit with its specifiers resolved; empty where only an instance knows them."""
    return "" if parts.is_template and "%" in text else parts.expand(text)


def _why_not_there(name: str, units: Mapping[str, str]) -> str:
    parts = parse_unit_name(name)
    if parts is None:
        return ""
    state = units.get(name, units.get(parts.template))
    if state is None:
        # An instance may be made by a generator, without a template.
        return "" if parts.type not in WITH_FILES or parts.is_instance else "there is no such unit"
    if state.startswith("masked"):
        return "it is masked"
    return "it has a bad unit file" if state == "bad" else ""


def _is_mounted_later(host: Host, unit: UnitFile, name: str, units: Mapping[str, str]) -> bool:
    """Whether a file that is not there may come with something that is mounted at boot or for this unit."""
    if not host.is_live and MOUNT_POINTS.fullmatch(name):
        return True
    keys = ("Unit.RequiresMountsFor", "Unit.WantsMountsFor")
    wanted = {word.rstrip("/") for key in keys for word in words_of(unit.settings.get(key, ()))}
    for folder in map(str, (PurePosixPath(name), *PurePosixPath(name).parents)):
        mount = units.get(f"{escape_path(folder)}.mount", "masked")
        is_promised = folder in wanted or (not host.is_live and not mount.startswith("masked"))
        # Something in it: it is mounted, or an image has all in one tree.
        if folder != "/" and is_promised and not host.names(folder).value:
            return True
    return False
