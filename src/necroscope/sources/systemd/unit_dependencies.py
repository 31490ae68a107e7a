"""Who starts a unit along, as far as files tell: other units' settings, links in `.wants`, and triggers.

Dependencies that systemd adds by itself are not told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from necroscope.sources.systemd.unit_generators import GeneratedUnit
from necroscope.sources.systemd.unit_names import UnitName, parse_unit_name
from necroscope.sources.systemd.unit_settings import is_true, words_of
from necroscope.sources.systemd.unit_tree import MASK, UnitTree

Settings = Mapping[str, tuple[str, ...]]

NEEDS = ("Unit.Requires", "Unit.Requisite", "Unit.BindsTo")
WANTS = ("Unit.Wants", "Unit.Upholds", "Service.Sockets")
TRIGGERS = {
    "socket": ("Socket.Service", "service"),
    "timer": ("Timer.Unit", "service"),
    "path": ("Path.Unit", "service"),
    "automount": ("", "mount"),
}


@dataclass(frozen=True, slots=True)
class Dependents:
    """Names of units, each with those that need and those that want it."""

    needed_by: defaultdict[str, set[str]]
    wanted_by: defaultdict[str, set[str]]

    def who_need(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those that need a unit by any of its names."""
        return _others(self.needed_by, names)

    def who_want(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those that want a unit by any of its names."""
        return _others(self.wanted_by, names)


def _others(dependents: Mapping[str, set[str]], names: tuple[str, ...]) -> tuple[str, ...]:
    found = {by for name in names for by in dependents.get(name, ())}
    return tuple(sorted(found.difference(names)))


def find_dependents(
    tree: UnitTree, units: Iterable[tuple[str, Settings]], generated: Iterable[GeneratedUnit]
) -> Dependents:
    """Who needs and who wants what, by the names that they use, and templates by their instances' too."""
    found = Dependents(defaultdict(set), defaultdict(set))
    for unit in generated:
        found.needed_by[unit.name].update(unit.needed_by)
        found.wanted_by[unit.name].update(unit.wanted_by)
    for name, settings in (*units, *((unit.name, unit.settings) for unit in generated)):
        parts = parse_unit_name(name)
        if parts is None:
            continue
        for kind, needed in _named(parts, settings):
            _add(found.needed_by if kind in NEEDS else found.wanted_by, needed, name)
    for dependency, links in _linked(tree).items():
        owner, _, kind = dependency.rpartition(".")
        for link, target in links.items():
            if target != MASK and parse_unit_name(owner):
                _add(found.needed_by if kind == "requires" else found.wanted_by, link, owner)
    return found


def _add(dependents: Mapping[str, set[str]], needed: str, by: str) -> None:
    parts = parse_unit_name(needed)
    if parts is None or needed == by:
        return
    dependents[needed].add(by)
    if parts.is_instance and parts.template != by:
        dependents[parts.template].add(by)


def _named(parts: UnitName, settings: Settings) -> Iterator[tuple[str, str]]:
    for kind in (*NEEDS, *WANTS):
        for word in words_of(settings.get(kind, ())):
            yield kind, parts.expand(word)
    if parts.type in TRIGGERS:
        yield "trigger", parts.expand(triggered_unit(parts, settings))


def triggered_unit(parts: UnitName, settings: Settings) -> str:
    """The unit that one of TRIGGERS starts, with specifiers as they are written."""
    setting, kind = TRIGGERS[parts.type]
    if named := settings.get(setting, ()):
        return named[-1]
    # With Accept= every connection gets an instance of its own.
    is_template = parts.type == "socket" and is_true(settings.get("Socket.Accept", ()))
    return str(UnitName(parts.prefix, "" if is_template else parts.instance, kind))


def _linked(tree: UnitTree) -> Mapping[str, Mapping[str, str]]:
    """Links by the folder's name: of two links of one name the first counts, and may be a mask."""
    found: dict[str, dict[str, str]] = {}
    for folder in reversed(tree.folders):
        for dependency, links in folder.needs.items():
            found.setdefault(dependency, {}).update(links)
    return found
