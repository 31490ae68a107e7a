"""What could start a unit again after it was stopped and its links were removed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase

from necroscope.remedies.plan.subject import SubjectUnit
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_dependencies import TRIGGERS
from necroscope.sources.systemd.unit_files import Settings, UnitFile
from necroscope.sources.systemd.unit_names import UnitName, parse_unit_name
from necroscope.sources.systemd.unit_settings import is_true, words_of
from necroscope.sources.systemd.unit_tree import MASK, PERSISTENT, RUNTIME, read_unit_tree

# Settings of other units that start it.
STARTING = (
    *("Unit.Requires", "Unit.BindsTo", "Unit.Wants", "Unit.Upholds", "Unit.OnFailure", "Unit.OnSuccess"),
    "Service.Sockets",
)
DBUS_FOLDERS = tuple(
    f"{top}/dbus-1/system-services"
    for top in ("/etc", "/run", "/usr/local/share", "/usr/share", "/lib", "/usr/lib")
)
UDEV_FOLDERS = tuple(f"{top}/udev/rules.d" for top in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"))
_DBUS = re.compile(r"^SystemdService=(\S+)", re.MULTILINE)
_WANTS = re.compile(r'SYSTEMD_WANTS\}?\s*(?:\+=|:=|=)\s*"([^"]*)"')
_SUBSTITUTED = re.compile(r"\$(?:\w+)?(?:\{[^}]*\})?|%[a-zA-Z](?:\{[^}]*\})?")


def find_triggers(unit: SubjectUnit) -> tuple[str, ...]:
    """Sockets, timers, paths and automounts that start it on their event."""
    return tuple(
        sorted(
            name
            for name, file in unit.files.items()
            if _may_run(unit, file) and _triggered_by(name, file.settings) in unit.names
        )
    )


def _may_run(unit: SubjectUnit, file: UnitFile) -> bool:
    """Whether another unit is on, or is started by anything but a person."""
    is_on = file.name in unit.activity and unit.activity[file.name].is_on
    return is_on or not file.state.startswith(("disabled", "masked", "alias", "bad"))


def _triggered_by(name: str, settings: Settings) -> str:
    parts = parse_unit_name(name)
    if parts is None or parts.type not in TRIGGERS:
        return ""
    key, triggered = TRIGGERS[parts.type]
    if named := settings.get(key, ()):
        return parts.expand(named[-1])
    if parts.type == "socket" and is_true(settings.get("Socket.Accept", ())):
        return ""  # every connection has an instance of its own
    return str(UnitName(parts.prefix, parts.instance, triggered))


def find_starters(host: Host, unit: SubjectUnit, removed: Collection[str]) -> tuple[str, ...]:
    """All that could start it, in words, once the links in `removed` are gone."""
    places = [link.rpartition("/") for link in removed]
    gone = {name for folder, _, name in places if folder in (PERSISTENT, RUNTIME)}  # aliases
    names = [name for name in unit.names if name == unit.name or name not in gone]
    found = [f"{name} triggers it" for name in find_triggers(unit)]
    found += _by_settings(unit, names)
    found += _by_links(host, names, removed)
    found += _by_dbus(host, names)
    found += _by_udev(host, names)
    return tuple(dict.fromkeys(found))


def _by_settings(unit: SubjectUnit, names: Collection[str]) -> Iterator[str]:
    for name, file in unit.files.items():
        parts = parse_unit_name(name)
        if parts is None or name in unit.names or not _may_run(unit, file):
            continue
        for key in STARTING:
            if any(parts.expand(word) in names for word in words_of(file.settings.get(key, ()))):
                yield f"{name} names it in {key.partition('.')[2]}="


def _by_links(host: Host, names: Collection[str], removed: Collection[str]) -> Iterator[str]:
    for folder in read_unit_tree(host, of_next_boot=not host.is_live).folders:
        for dependency, links in sorted(folder.needs.items()):
            for name in names:
                link = f"{folder.name}/{dependency}/{name}"
                if links.get(name, MASK) != MASK and link not in removed:
                    yield f"{link} wants it"


def _by_dbus(host: Host, names: Collection[str]) -> Iterator[str]:
    for path, text in _texts(host, DBUS_FOLDERS):
        service = _DBUS.search(text)
        if service and service[1] in names:
            asked_for = path.rpartition("/")[2].removesuffix(".service")
            yield f"D-Bus starts it when somebody asks for {asked_for}"


def _by_udev(host: Host, names: Collection[str]) -> Iterator[str]:
    parts = [parse_unit_name(name) for name in names]
    # A template without an instance gets one for each device.
    known = {*names, *(part.template for part in parts if part and part.is_instance)}
    for path, text in _texts(host, UDEV_FOLDERS):
        wanted = [word for match in _WANTS.finditer(text) for word in match[1].split()]
        # $name and %k stand for a device that may come at any time; without a beginning, for anything.
        globs = {glob for word in wanted if not (glob := _SUBSTITUTED.sub("*", word)).startswith("*")}
        if any(fnmatchcase(name, glob) for name in known for glob in globs):
            yield f"udev starts it for a device ({path})"


def _texts(host: Host, folders: Collection[str]) -> Iterator[tuple[str, str]]:
    """The files of these folders and what they say; of two folders that are one, the first."""
    seen = set()
    for folder in folders:
        if (place := host.path(folder).resolve() if host.is_own else host.path(folder)) in seen:
            continue
        seen.add(place)
        for file in host.names(folder).value or ():
            yield f"{folder}/{file}", host.read_regular(f"{folder}/{file}", "replace").value or ""
