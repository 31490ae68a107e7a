"""Other units and mounts that a unit counts on, as far as the names of all units tell.

Reads    nothing but folders that something may be mounted on
Needs    the states of all units, by name
Costs    3 us per unit
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_files import UnitFile
from necroscope.sources.systemd.unit_names import UnitName, escape_path, parse_unit_name
from necroscope.sources.systemd.unit_settings import is_true, words_of

NEEDS = ("Requires", "Requisite", "BindsTo")
# Others may come without a file: from the kernel, from a program, from a generator.
WITH_FILES = ("service", "socket", "timer", "path")
# What is below is usually mounted there.
MOUNT_POINTS = re.compile(r"/(mnt|media|snap|nix|net|misc|cdrom)/.*")


def find_missing_peers(unit: UnitFile, units: Mapping[str, str]) -> Iterator[str]:
    """Units without which systemd refuses to start this one."""
    parts = parse_unit_name(unit.name)
    if parts is None:
        return
    for key in NEEDS:
        for word in words_of(unit.settings.get(f"Unit.{key}", ())):
            name = _expanded(parts, word)
            if reason := _why_not_there(name, units):
                yield f"{key}={name}: {reason}"
    if parts.type == "socket":
        name = _service_of(parts, unit.settings)
        if reason := _why_not_there(name, units):
            yield f"{name}, which it starts: {reason}"


def _service_of(parts: UnitName, settings: Mapping[str, tuple[str, ...]]) -> str:
    if named := settings.get("Socket.Service", ()):
        return _expanded(parts, named[-1])
    # With Accept= every connection gets an instance of its own.
    is_template = is_true(settings.get("Socket.Accept", ()))
    return str(UnitName(parts.prefix, "" if is_template else parts.instance, "service"))


def _expanded(parts: UnitName, text: str) -> str:
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


def is_mounted_later(host: Host, unit: UnitFile, name: str, units: Mapping[str, str]) -> bool:
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
