"""Files that are laid over a unit's own."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.sources.systemd.unit_names import parse_unit_name
from necroscope.sources.systemd.unit_tree import UnitTree


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
