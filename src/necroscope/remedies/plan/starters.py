"""What starts a unit: its links, all else that could start it again without them, and who needs it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase

from necroscope.errors import CannotLookError
from necroscope.remedies.actions.files import place_of, read_link
from necroscope.remedies.plan.subject import SubjectUnit, find_triggers, may_run
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_dependencies import NEEDS
from necroscope.sources.systemd.unit_names import parse_unit_name
from necroscope.sources.systemd.unit_settings import words_of
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


def find_links(host: Host, unit: SubjectUnit) -> dict[str, str]:
    """Links in /etc, and of a running machine in /run, by their path, and where each leads.

    Of a unit that is only linked in from elsewhere, that link too, as `systemctl disable` does.
    """
    if unit.file is None or unit.state == "masked":
        return {}
    folders = (PERSISTENT, RUNTIME) if host.is_live else (PERSISTENT,)
    own = [f"{folder}/{unit.name}" for folder in folders]
    found = {}
    for path in (*unit.file.enabled_by, *own):
        text = _link_text(host, path) if path.startswith(tuple(f"{folder}/" for folder in folders)) else ""
        if text and text != MASK:  # a mask in a .wants folder keeps another link from counting
            found[path] = text
    return found


def names_by_links(host: Host, unit: str, links: Mapping[str, str]) -> frozenset[str]:
    """The names by which links may enable a unit: its own, its template's, and aliases, also in `links`.

    Of a link in a .wants folder only the name counts, wherever it leads.
    """
    parts = parse_unit_name(unit)
    places = [(*path.rpartition("/"), text) for path, text in links.items()]
    leading = {name: text for folder, _, name, text in places if folder in (PERSISTENT, RUNTIME)}
    for place in read_unit_tree(host, of_next_boot=not host.is_live).folders:
        leading = {**place.links, **leading}
    names = {unit, parts.template} if parts else {unit}
    while more := {name for name, text in leading.items() if text.rpartition("/")[2] in names} - names:
        names |= more
    return frozenset(names)


def _link_text(host: Host, path: str) -> str:
    """Where a link leads; empty where there is none."""
    place = place_of(host, path)
    try:
        return (read_link(place) or "") if place.is_symlink() else ""
    except OSError as error:
        raise CannotLookError(f"{path}: {error.strerror}", hint="run it as root") from error


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
        if parts is None or name in unit.names or not may_run(unit, file):
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


def who_need(host: Host, unit: SubjectUnit, removed: Collection[str]) -> tuple[str, ...]:
    """Units that need it once the links in `removed` are gone, and those that need them."""
    freed = _needing_by_link(host, unit, removed)
    pending = [name for name in _needed_by(unit, unit.name) if name not in freed]
    found: dict[str, None] = {}
    while pending:
        found.update(dict.fromkeys(pending))
        pending = [name for one in pending for name in _needed_by(unit, one) if name not in found]
    return tuple(name for name in found if name not in unit.names)


def _needed_by(unit: SubjectUnit, name: str) -> tuple[str, ...]:
    file = unit.files.get(name) or (unit.file if name == unit.name else None)
    return file.needed_by if file else ()


def _needing_by_link(host: Host, unit: SubjectUnit, removed: Collection[str]) -> set[str]:
    """Units that need it by nothing but a link in `removed`, as RequiredBy= makes them."""
    links = {
        f"{folder.name}/{dependency}/{name}": dependency.removesuffix(".requires")
        for folder in read_unit_tree(host, of_next_boot=not host.is_live).folders
        for dependency, names in folder.needs.items()
        for name in names
        if dependency.endswith(".requires") and name in unit.names
    }
    staying = {owner for link, owner in links.items() if link not in removed}
    return {owner for owner in links.values() if owner not in staying and not _names(unit, owner)}


def _names(unit: SubjectUnit, owner: str) -> bool:
    settings = unit.files[owner].settings if owner in unit.files else {}
    return any(word in unit.names for key in NEEDS for word in words_of(settings.get(key, ())))
