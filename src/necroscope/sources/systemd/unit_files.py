"""Every unit that a machine or an image has files for, without asking systemd and without running anything.

Reads    systemd's unit folders below /etc, /run, /usr and /lib, and its presets; /etc/init.d, /etc/fstab
Needs    permission to read them
Costs    about 0.1 ms per unit: 40 ms for 400 of them

States and presets are told in the words of `systemctl --root list-unit-files`. Instances that only a link in
a `.wants` folder names are told as well, and so are units that generators will make at boot.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_dependencies import Dependents, find_dependents
from necroscope.sources.systemd.unit_generators import GeneratedUnit, find_generated, why_not_generated
from necroscope.sources.systemd.unit_install import Installation, Installed
from necroscope.sources.systemd.unit_links import find_enabling_links
from necroscope.sources.systemd.unit_names import parse_unit_name
from necroscope.sources.systemd.unit_presets import Presets, read_presets
from necroscope.sources.systemd.unit_settings import merge
from necroscope.sources.systemd.unit_tree import UnitTree, read_unit_tree

Settings = Mapping[str, tuple[str, ...]]

# `list-unit-files` tells no preset for these: there is nothing to enable.
WITHOUT_PRESET = ("alias", "static", "generated", "transient")
_LIBRARY = re.compile(r"libsystemd-shared-(\d+)")
_WITH_UPHOLDS_AND_IGNORE = 254


@dataclass(frozen=True, slots=True)
class UnitFile:
    """One unit, by one of its names."""

    name: str
    path: str  # the file that counts, as the machine calls it; of a masked unit the mask's own place
    state: str  # as `systemctl --root list-unit-files` says: enabled, disabled, static, masked, ...
    preset: str  # enabled, disabled; empty where nothing applies
    preset_rule: str  # FILE: LINE that decided; empty where none does, and systemd's default applies
    enabled_by: tuple[str, ...]  # links in /etc and /run that enable it
    drop_ins: tuple[str, ...]  # in the order in which they apply
    needed_by: tuple[str, ...]  # units that require it
    wanted_by: tuple[str, ...]  # units that start it along, and sockets, timers and paths that trigger it
    settings: Settings  # "Service.ExecStart" -> its values, drop-ins applied; of a mask nothing


def read_unit_files(host: Host, *, of_next_boot: bool = False) -> Reading[tuple[UnitFile, ...]]:
    """All units by name. Where some files could not be read, the detail says which and why.

    `of_next_boot` leaves out what lies in /run.
    """
    tree = read_unit_tree(host, of_next_boot=of_next_boot)
    if not tree.folders:
        if tree.not_read:
            return Reading(absence=Absence.NOT_PERMITTED, detail="; ".join(tree.not_read))
        return Reading(absence=Absence.NOT_SUPPORTED, detail="no systemd: there are no folders of unit files")
    version = systemd_version(host)
    is_new = version is not None and version >= _WITH_UPHOLDS_AND_IGNORE
    installation = Installation(tree, knows_upholds=is_new)
    presets = read_presets(host, knows_ignore=is_new)
    units: dict[str, Installed] = {}
    for name, has_file in _names(tree).items():
        unit = installation.look_up(name)
        if unit and (has_file or unit.state != "bad"):
            units[name] = unit
    described = _describe(tree, units, presets)
    not_read = (*tree.not_read, *tree.refused, *presets.not_read, *why_not_generated(host))
    return Reading(described, detail="; ".join(map(_as_text, not_read)))


def systemd_version(host: Host) -> int | None:
    """The systemd of the tree, from the name of its library; None where it cannot be told."""
    folders = ["/usr/lib/systemd", "/lib/systemd", "/usr/lib64/systemd"]
    folders += [
        f"/usr/lib/{name}/systemd" for name in host.names("/usr/lib").value or () if "-linux-" in name
    ]
    for folder in folders:
        for name in host.names(folder).value or ():
            if match := _LIBRARY.match(name):
                return int(match[1])
    return None


def _names(tree: UnitTree) -> Mapping[str, bool]:
    """Names of units, and whether there is a file or a link of that name; instances need none."""
    names: dict[str, bool] = {}
    for folder in tree.folders:
        for links in folder.needs.values():
            for link in links:
                parts = parse_unit_name(link)
                if parts and parts.is_instance:
                    names.setdefault(link, False)
        names.update({name: True for name, kind in folder.kinds.items() if kind in ("file", "link")})
    return names


def _describe(tree: UnitTree, units: Mapping[str, Installed], presets: Presets) -> tuple[UnitFile, ...]:
    names = _all_names(units)
    drop_ins: dict[str, tuple[str, ...]] = {}
    settings: dict[str, Settings] = {}
    for unit in units.values():
        if unit.unit not in settings:
            is_off = unit.state.startswith(("masked", "bad"))
            drop_ins[unit.unit] = () if is_off else find_drop_ins(tree, names[unit.unit])
            settings[unit.unit] = {} if is_off else _settings(tree, unit.path, drop_ins[unit.unit])
    generated = find_generated(tree.host, frozenset(units))
    dependents = find_dependents(tree, settings.items(), generated)
    enabling = find_enabling_links(tree)
    described = [_generated_file(each, dependents) for each in generated if each.name not in units]
    for name, unit in units.items():
        rule, preset = _preset(tree, name, unit, presets)
        links = {link for each in names[unit.unit] for link in enabling.get(each, ())}
        described.append(
            UnitFile(
                name=name,
                path=_as_text(unit.path),
                state=unit.state,
                preset=preset,
                preset_rule=rule,
                enabled_by=tuple(map(_as_text, sorted(links))),
                drop_ins=tuple(map(_as_text, drop_ins[unit.unit])),
                needed_by=dependents.who_need(names[unit.unit]),
                wanted_by=dependents.who_want(names[unit.unit]),
                settings=settings[unit.unit],
            )
        )
    return tuple(sorted(described, key=lambda unit: unit.name))


def _preset(tree: UnitTree, name: str, unit: Installed, presets: Presets) -> tuple[str, str]:
    """The rule that decides about a unit, and what it says."""
    if unit.state in WITHOUT_PRESET:
        return "", ""
    parts = parse_unit_name(name)
    if parts and not any(name in folder.kinds for folder in tree.folders):
        name = parts.template  # so does systemd with an instance that has no file
    rule = presets.rule_for(name)
    return (str(rule), rule.result) if rule else ("", "enabled")


def _as_text(name: str) -> str:
    """A file's name that anybody can print: names need not be text."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


def _all_names(units: Mapping[str, Installed]) -> Mapping[str, tuple[str, ...]]:
    """Every unit's own name and its aliases."""
    aliases: dict[str, set[str]] = defaultdict(set)
    for name, unit in units.items():
        aliases[unit.unit].add(name)
    return {unit: (unit, *sorted(names - {unit})) for unit, names in aliases.items()}


def _generated_file(unit: GeneratedUnit, dependents: Dependents) -> UnitFile:
    return UnitFile(
        name=unit.name,
        path=unit.path,
        state="generated",
        preset="",
        preset_rule="",
        enabled_by=unit.enabled_by,
        drop_ins=(),
        needed_by=dependents.who_need((unit.name,)),
        wanted_by=dependents.who_want((unit.name,)),
        settings=unit.settings,
    )


def _settings(tree: UnitTree, path: str, drop_ins: Iterable[str]) -> Settings:
    files = []
    for name in (path, *drop_ins):
        try:
            files.append(tree.parse(name, follows=True) or ())
        except (OSError, ValueError):
            continue  # systemd too goes on without a drop-in that it cannot read
    return merge(files)


def find_drop_ins(tree: UnitTree, names: tuple[str, ...]) -> tuple[str, ...]:
    """The drop-ins of a unit that has these names, in the order in which they apply.

    They are ordered by their own names, wherever they lie; of two with one name the nearest counts.
    """
    found: dict[str, str] = {}
    for owners in _owners(names):
        for folder in tree.folders:
            for owner in owners:
                for conf in folder.drop_ins.get(f"{owner}.d", ()):
                    found.setdefault(conf, f"{folder.name}/{owner}.d/{conf}")
    return tuple(found[conf] for conf in sorted(found))


def _owners(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Whose drop-ins apply, the nearest first: the unit by each name, and at last all units of its type."""
    types = []
    for name in names:
        if parts := parse_unit_name(name):
            yield tuple(str(each) for each in (parts, *parts.parents))
            types.append(parts.type)
    yield tuple(types[:1])
