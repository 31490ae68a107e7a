"""Links that enable units, by the units that they enable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from necroscope.sources.systemd.unit_names import UnitName, parse_unit_name
from necroscope.sources.systemd.unit_tree import PERSISTENT, RUNTIME, UnitFolder, UnitTree


def is_runtime(folder: str) -> bool:
    """Whether what is in a folder is gone with the next boot."""
    return folder.startswith("/run/")


@dataclass(frozen=True, slots=True)
class _Links:
    """The links of one folder, by what may be looked for."""

    needed: Mapping[str, list[str]]  # names of links in .wants and its like, by name and by template
    leading_to: Mapping[str, list[str]]  # names of links in the folder itself, by the last part of the target


class UnitLinks:
    """All links of a tree."""

    def __init__(self, tree: UnitTree, knows_upholds: bool) -> None:
        self._folders = [(folder, _index(folder, knows_upholds)) for folder in tree.folders]

    def state_of(self, unit: UnitName, path: str, counts: Callable[[str], bool]) -> str:
        """The state that links give a unit whose file is at `path`; empty where there are none.

        Only links whose name `counts` are looked at.
        """
        name = str(unit)
        enabled: set[bool] = set()  # of folders that enable it, whether they are runtime
        same_name = ""
        ignores_same_name = False
        for folder, links in self._folders:
            candidates, is_same_name = _candidates(folder, links, name, ignores_same_name)
            is_found = any(counts(link) for link in candidates)
            if is_found and folder.name == PERSISTENT:
                return "enabled"
            if is_found:
                enabled.add(is_runtime(folder.name))
            elif is_same_name and folder.name == PERSISTENT:
                same_name = "linked"
            elif is_same_name and is_runtime(folder.name):
                same_name = same_name or "linked-runtime"
            # Folders after the one that the unit's file lies in cannot rename it.
            ignores_same_name |= path.startswith(f"{folder.name}/")
        if True in enabled:
            return "enabled-runtime"
        return "static" if enabled and unit.is_instance else same_name


def _candidates(
    folder: UnitFolder, links: _Links, name: str, ignores_same_name: bool
) -> tuple[list[str], bool]:
    """Links in a folder that may enable a unit, and whether there is one of the same name."""
    found = list(links.needed.get(name, ()))
    is_same_name = False
    for link in links.leading_to.get(name, ()):
        if link == name and not ignores_same_name:
            is_same_name = True
        else:
            found.append(link)
    if not is_same_name and not ignores_same_name and name in folder.links:
        found.append(name)
    return found, is_same_name


def _index(folder: UnitFolder, knows_upholds: bool) -> _Links:
    needed: dict[str, list[str]] = defaultdict(list)
    for dependency, links in folder.needs.items():
        if dependency in folder.followed or (dependency.endswith(".upholds") and not knows_upholds):
            continue
        for link in links:
            needed[link].append(link)
            parts = parse_unit_name(link)
            if parts and parts.is_instance:
                needed[parts.template].append(link)
    leading_to: dict[str, list[str]] = defaultdict(list)
    for link, target in folder.links.items():
        leading_to[target.rpartition("/")[2]].append(link)
    return _Links(needed, leading_to)


def find_enabling_links(tree: UnitTree) -> Mapping[str, list[str]]:
    """Links in /etc and /run by the unit that they enable, of a template those of its instances too."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in tree.folders:
        if folder.name not in (PERSISTENT, RUNTIME):
            continue
        for dependency, links in folder.needs.items():
            for link in links:
                parts = parse_unit_name(link)
                for name in {link, parts.template} if parts else ():
                    found[name].append(f"{folder.name}/{dependency}/{link}")
        for link, target in folder.links.items():
            base = target.rpartition("/")[2]
            if base != link and parse_unit_name(base):
                found[base].append(f"{folder.name}/{link}")
    return found
