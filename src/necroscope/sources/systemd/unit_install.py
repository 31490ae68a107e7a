"""Whether a unit is enabled, told from its files and from links: the word that `systemctl is-enabled` has.

It goes the way of systemd's `unit_file_lookup_state`, whose corner cases are what the words mean. 252 and 262
differ in `.upholds` folders and `UpheldBy=` alone, which came with 254.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field

from necroscope.sources.systemd.unit_links import UnitLinks, is_runtime
from necroscope.sources.systemd.unit_names import (
    MAY_BE_TEMPLATES,
    MAY_HAVE_ALIASES,
    UnitName,
    may_be_alias,
    parse_unit_name,
)
from necroscope.sources.systemd.unit_settings import Assignment, split_words
from necroscope.sources.systemd.unit_tree import GENERATED, MASK, TRANSIENT, UnitTree, is_searched

MOST_STEPS = 64  # from one alias to the next

# A folder in which a unit is not, or may not be looked for, does not end the search.
_NOT_HERE = (FileNotFoundError, NotADirectoryError, PermissionError)


@dataclass(frozen=True, slots=True)
class Installed:
    """What is known of one name."""

    unit: str  # the name of the unit behind it: another one where it is an alias
    path: str  # the file that counts
    state: str


@dataclass(slots=True)
class _Candidate:
    """A unit on the way to its file, with what the [Install] sections have said so far."""

    name: str
    parts: UnitName
    first_path: str = ""
    path: str = ""
    target: str = ""  # of the link that the path is
    kind: str = ""  # file, mask, alias, linked
    aliases: set[str] = field(default_factory=set)
    wanted: dict[str, bool] = field(default_factory=dict)  # WantedBy= and its like: whether they say anything
    has_also: bool = False
    default_instance: str = ""

    def goes_by(self, name: str) -> bool:
        """Whether a link of that name is one that enabling the unit would have made."""
        if name == self.name or name in self.aliases:
            return True
        return (
            bool(self.default_instance)
            and self.parts.is_template
            and name == self.parts.with_instance(self.default_instance)
        )

    def take(self, assignments: tuple[Assignment, ...], knows_upholds: bool) -> None:
        for section, key, value in assignments:
            if section != "Install":
                continue
            if key == "Alias":
                if self.parts.type in MAY_HAVE_ALIASES:
                    self.aliases.update(split_words(value)) if value else self.aliases.clear()
            elif key in ("WantedBy", "RequiredBy") or (key == "UpheldBy" and knows_upholds):
                self.wanted[key] = bool(value) and (self.wanted.get(key, False) or bool(split_words(value)))
            elif key == "Also":
                for word in value.split():
                    if not parse_unit_name(self.parts.expand(word, self.default_instance)):
                        raise ValueError(f"Also={word}")
                    self.has_also = True
            elif key == "DefaultInstance" and self.parts.is_template:
                self.default_instance = self._instance(value)

    def _instance(self, value: str) -> str:
        instance = self.parts.expand(value, self.default_instance)
        if instance and not parse_unit_name(self.parts.with_instance(instance)):
            raise ValueError(f"DefaultInstance={value}")
        return instance


class Installation:
    """Answers for every name of a tree."""

    def __init__(self, tree: UnitTree, knows_upholds: bool) -> None:
        self.tree = tree
        self.knows_upholds = knows_upholds
        self._links = UnitLinks(tree, knows_upholds)

    def look_up(self, name: str) -> Installed | None:
        """What the name stands for; None where there is no file for it. `bad` where systemd would give up."""
        parts = parse_unit_name(name)
        if parts is None:
            return None
        start = _Candidate(name, parts)
        try:
            found = self._find(start)
            state = self._state(name, found)
        except (OSError, ValueError):
            place = start.first_path or self._own_place(name)
            return Installed(name, place, "bad") if place else None
        return Installed(found.name, start.first_path if found.kind == "mask" else found.path, state)

    def _own_place(self, name: str) -> str:
        return next((f"{folder.name}/{name}" for folder in self.tree.folders if name in folder.kinds), "")

    def _find(self, start: _Candidate) -> _Candidate:
        """The candidate that is a file or a mask, from one that may be a link."""
        unit = start
        self._search(unit)
        for _ in range(MOST_STEPS):
            if unit.kind in ("file", "mask"):
                return unit
            base = unit.target.rpartition("/")[2]
            target = parse_unit_name(base)
            if unit.parts.is_instance and target and target.is_template and unit.kind == "alias":
                base = target.with_instance(unit.parts.instance or "")
                target = parse_unit_name(base)
            if unit.kind == "linked" or base == unit.name:
                unit.path = unit.target
                self._load(unit, unit.path)
                continue
            if target is None:
                raise OSError(errno.EINVAL, "an alias of what is no unit", unit.path)
            unit = _Candidate(base, target)
            self._search(unit)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), start.first_path)

    def _search(self, unit: _Candidate) -> None:
        """Find the first folder that has the unit, or else its template, and read it and its drop-ins."""
        names = [unit.name, unit.parts.template] if unit.parts.is_instance else [unit.name]
        if not any(self._search_for(name, unit) for name in names):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), unit.name)
        if unit.kind == "mask":
            return
        confs: dict[str, str] = {}
        for name in names:
            for folder in self.tree.folders:
                for conf in folder.drop_ins.get(f"{name}.d", ()):
                    confs.setdefault(conf, f"{folder.name}/{name}.d/{conf}")
        for conf in sorted(confs):
            # An error in a drop-in is one of the unit, a missing file too.
            try:
                unit.take(self.tree.parse(confs[conf], follows=True) or (), self.knows_upholds)
            except FileNotFoundError as error:
                raise ValueError(f"{confs[conf]} leads nowhere") from error

    def _search_for(self, name: str, unit: _Candidate) -> bool:
        for folder in self.tree.folders:
            if name not in folder.kinds:
                continue
            path = f"{folder.name}/{name}"
            try:
                self._load(unit, path)
            except _NOT_HERE:
                continue
            unit.path = path
            unit.first_path = unit.first_path or path
            return True
        return False

    def _load(self, unit: _Candidate, path: str) -> None:
        """Read a unit's file, or where the link leads that it is."""
        if unit.parts.instance is not None and unit.parts.type not in MAY_BE_TEMPLATES:
            raise OSError(errno.EINVAL, f"a {unit.parts.type} cannot be a template", path)
        physical = self.tree.path(path)
        if not os.path.islink(physical):  # noqa: PTH114
            assignments = self.tree.parse(path)
            unit.kind = "mask" if assignments is None else "file"
            unit.take(assignments or (), self.knows_upholds)
            return
        folder, _, base = path.rpartition("/")
        unit.target = self.tree.follow(folder, os.readlink(physical))  # noqa: PTH115
        if unit.target == MASK:
            unit.kind = "mask"
        elif is_searched(unit.target):
            if not may_be_alias(base, unit.target.rpartition("/")[2]):
                raise OSError(errno.EINVAL, f"cannot be an alias of {unit.target}", path)
            unit.kind = "alias"
        else:
            unit.kind = "linked"

    def _state(self, name: str, unit: _Candidate) -> str:
        folder, _, base = unit.path.rpartition("/")
        if unit.kind == "mask":
            state = "masked-runtime" if is_runtime(folder) else "masked"
        elif name != base and not unit.parts.is_instance:
            state = "alias"
        elif folder in GENERATED:
            state = "generated"
        elif folder == TRANSIENT:
            state = "transient"
        else:
            state = self._state_by_links(unit)
        return state

    def _state_by_links(self, unit: _Candidate) -> str:
        # First those that enabling the unit would have made, then any.
        if state := self._links.state_of(unit.parts, unit.path, unit.goes_by):
            return state
        if self._links.state_of(unit.parts, unit.path, lambda _: True):
            return "indirect"
        if unit.aliases or any(unit.wanted.values()):
            return "disabled"
        return "indirect" if unit.has_also else "static"
