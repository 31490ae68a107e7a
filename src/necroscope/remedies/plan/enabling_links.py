"""The links that enable a unit, and that are removed to disable it."""

from __future__ import annotations

from collections.abc import Mapping

from necroscope.errors import CannotLookError
from necroscope.remedies.actions.files import place_of, read_link
from necroscope.remedies.plan.subject import SubjectUnit
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_names import parse_unit_name
from necroscope.sources.systemd.unit_tree import MASK, PERSISTENT, RUNTIME, read_unit_tree


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
        text = _text(host, path) if path.startswith(tuple(f"{folder}/" for folder in folders)) else ""
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


def _text(host: Host, path: str) -> str:
    """Where a link leads; empty where there is none."""
    place = place_of(host, path)
    try:
        return (read_link(place) or "") if place.is_symlink() else ""
    except OSError as error:
        raise CannotLookError(f"{path}: {error.strerror}", hint="run it as root") from error
