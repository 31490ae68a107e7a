"""Who cannot start without a unit, as far as files tell."""

from __future__ import annotations

from collections.abc import Collection

from necroscope.remedies.plan.subject import SubjectUnit
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_dependencies import NEEDS
from necroscope.sources.systemd.unit_settings import words_of
from necroscope.sources.systemd.unit_tree import read_unit_tree


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
