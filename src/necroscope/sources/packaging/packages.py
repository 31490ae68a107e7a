"""Installed packages, and which of them a file belongs to.

Reads    the database of dpkg (dpkg.py) or of RPM (rpm.py), whichever is there
Needs    for RPM its program rpm, also to read an image; nothing is written to the machine or image
Costs    what its database does, see there: less than 0.1 s for 1,000 packages

The owner is what the database says. It does not tell whether the file was changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from necroscope.model.package import Package, Packages
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.packaging import dpkg, rpm

__all__ = ["Package", "Packages", "find_owners", "read_packages"]

# Where /usr is merged, each is a link to its namesake in /usr; since Fedora 42 /usr/sbin is one to bin.
MERGED = [(f"/{name}", f"/usr/{name}") for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32")]
MERGED.append(("/usr/sbin", "/usr/bin"))


def read_packages(host: Host) -> Reading[Packages]:
    """The packages of the manager that has any; where both have, of the one that has more."""
    readings = {"dpkg": dpkg.read_installed(host), "rpm": rpm.read_installed(host)}
    manager = max(readings, key=lambda manager: len(readings[manager].value or ()))
    installed = readings[manager].value
    if installed is None:
        return _why_none(list(readings.values()))
    return Reading(Packages(manager, tuple(sorted(installed))), detail=readings[manager].detail)


def find_owners(host: Host, paths: Iterable[str]) -> Reading[Mapping[str, str]]:
    """The name of the package that each path belongs to; a path that belongs to none is not in it.

    Of several packages that share a path it is the first by name. `detail` says which lists of files
    could not be read, if any: what is missing may be in these.
    """
    folders = _same_folders(host)
    spellings = {path: tuple(_spellings(path, folders)) for path in paths}
    wanted = frozenset(name for names in spellings.values() for name in names)
    readings = [dpkg.find_owners(host, wanted), rpm.find_owners(host, wanted)]
    found = [reading.value for reading in readings if reading.value is not None]
    if not found:
        return _why_none(readings)
    owners = {}
    for path, names in spellings.items():
        owner = next((known[name] for known in found for name in names if name in known), None)
        if owner is not None:
            owners[path] = owner
    unread = [r.detail if r.absence is None else r.reason for r in readings if not _is_not_there(r)]
    return Reading(owners, detail="; ".join(filter(None, unread)))


def _same_folders(host: Host) -> list[tuple[str, str]]:
    """The pairs of names under which this machine knows one folder."""

    def is_same(alias: str, name: str) -> bool:
        try:
            return host.path(alias).samefile(host.path(name))
        except OSError:
            # What is not there holds no other file. Of /usr/sbin and /usr/bin both are everywhere.
            return alias != "/usr/sbin"

    return [pair for pair in MERGED if is_same(*pair)]


def _spellings(path: str, folders: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The path itself first, then all other names that the same file has."""
    names = [path]
    for name in names:  # grows on the way: /sbin is /usr/sbin is /usr/bin
        for pair in folders:
            for folder, other in (pair, pair[::-1]):
                if name.startswith(f"{folder}/"):
                    alias = other + name[len(folder) :]
                    if alias not in names:
                        names.append(alias)
    yield from names


def _is_not_there(reading: Reading[Any]) -> bool:
    return reading.absence is Absence.NOT_SUPPORTED


def _why_none(readings: Sequence[Reading[Any]]) -> Reading[Any]:
    """A database that is there and cannot be read, else all the places where there is none."""
    for reading in readings:
        if not _is_not_there(reading):
            return reading.without_value()
    places = "; ".join(reading.detail for reading in readings)
    return Reading(absence=Absence.NOT_SUPPORTED, detail=f"no package database with content: {places}")
