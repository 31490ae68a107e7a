"""The links that enable a unit, and that are removed to disable it."""

from __future__ import annotations

from necroscope.errors import CannotLookError
from necroscope.remedies.actions.means.files import place_of, read_link
from necroscope.remedies.units.subject import SubjectUnit
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_tree import MASK, PERSISTENT, RUNTIME


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


def _text(host: Host, path: str) -> str:
    """Where a link leads; empty where there is none."""
    place = place_of(host, path)
    try:
        return (read_link(place) or "") if place.is_symlink() else ""
    except OSError as error:
        raise CannotLookError(f"{path}: {error.strerror}", hint="run it as root") from error
