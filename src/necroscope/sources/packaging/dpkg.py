"""The database of dpkg: the installed packages of Debian and Ubuntu, and their files.

Reads    in /var/lib/dpkg: status; updates/, which an interrupted dpkg has not merged into it yet;
         info/*.list, or *.md5sums if there is no list; diversions; status.d/ of images without a dpkg
Needs    nothing. dpkg-query is not asked: it does not know status.d, takes files for patterns, and a
         hostile image can do less with our few lines that read text
Costs    10 ms for 900 packages, 66 ms for 5,400; 31 ms and 0.18 s for their lists of files (8 MB, 46 MB)

    Package: cron
    Status: install ok installed
    Version: 3.0pl1-162

A package that is unpacked and not yet configured counts as installed: its files are there. One of which
only the configuration files are left does not.

    /usr/bin/perf
    /usr/bin/perf.wrapper
    linux-perf

is a diversion: a /usr/bin/perf of any package but linux-perf is at /usr/bin/perf.wrapper.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from necroscope.model.package import Package
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing, read_whole, whole_lines

FOLDER = "/var/lib/dpkg"
MAX_PACKAGES = 100_000  # Debian has 65,000; of them all, in one file or many
MAX_PART_BYTES = 1 << 20  # a file of status.d has one package
INSTALLED = ("installed", "triggers-awaited", "triggers-pending", "half-configured", "unpacked")
FIELD = re.compile(r"^(Package|Status|Version|Architecture):[ \t]*(.*?)[ \t]*$", re.IGNORECASE | re.MULTILINE)
SUM_BYTES = 34  # the sum and two spaces before the path


class Entry(NamedTuple):
    """What a status file says of one package."""

    package: Package
    is_installed: bool


def parse_status(text: str, state_if_unsaid: str = "not-installed") -> list[Entry]:
    """All packages of a status file, installed or not."""
    if text and not text.endswith("\n"):
        raise ValueError("the file ends in the middle of a line")
    if text.count("\n\n") > MAX_PACKAGES:
        raise ValueError(f"more than {MAX_PACKAGES} packages")
    return [_entry(stanza, state_if_unsaid) for stanza in re.split("\n\n+", text.strip("\n")) if stanza]


def _entry(stanza: str, state_if_unsaid: str) -> Entry:
    fields = {name.lower(): value for name, value in FIELD.findall(stanza)}
    package = Package(fields["package"], fields.get("version", ""), fields.get("architecture", ""))
    state = fields.get("status", state_if_unsaid).rpartition(" ")[2]
    if state in INSTALLED and not package.version:
        raise ValueError(f"{package.name} is installed and has no version")
    return Entry(package, state in INSTALLED)


def read_installed(host: Host) -> Reading[tuple[Package, ...]]:
    """The installed packages; `detail` says which files of status.d could not be read, if any."""
    status = host.read(f"{FOLDER}/status", errors="replace").parsed(parse_status)
    updates = [
        host.read(f"{FOLDER}/updates/{name}", errors="replace").parsed(parse_status)
        for name in host.names(f"{FOLDER}/updates").value or ()
        if name.isdecimal()  # the others are being written
    ]
    parts: list[Reading[list[Entry]]] = []
    left = MAX_PACKAGES
    for name in host.names(f"{FOLDER}/status.d").value or ():
        if not name.endswith(".md5sums"):
            parts.append(_read_part(host, name))
            left -= len(parts[-1].value or ())
            if left < 0:
                return Reading(absence=Absence.BROKEN, detail=f"status.d: more than {MAX_PACKAGES} packages")
    for reading in (status, *updates):
        if reading.absence not in (None, Absence.NOT_SUPPORTED):
            return reading.without_value()
    entries = {
        (entry.package.name, entry.package.architecture): entry  # a later one is newer
        for reading in (status, *updates, *parts)
        for entry in reading.value or ()
    }
    installed = tuple(entry.package for entry in entries.values() if entry.is_installed)
    unread = [part for part in parts if part.absence]
    if installed:
        return Reading(installed, detail="; ".join(part.reason for part in unread))
    if unread:
        return unread[0].without_value()
    what = status.detail if status.absence else f"{FOLDER}/status: no package is installed"
    return Reading(absence=Absence.NOT_SUPPORTED, detail=what)


def _read_part(host: Host, name: str) -> Reading[list[Entry]]:
    """One file of status.d. Nothing is ever removed from such an image, so few of them say a state."""
    text = host.read_regular(f"{FOLDER}/status.d/{name}", errors="replace", most_bytes=MAX_PART_BYTES)
    return text.parsed(lambda text: parse_status(text, state_if_unsaid="installed"))


class Diversion(NamedTuple):
    """A path where only one package may put its file; that of any other goes to `target`."""

    source: str
    target: str
    package: str  # ":" is none of them: the administrator diverted it

    def place_for(self, package: str) -> str:
        """Where the file of this package is."""
        return self.source if package == self.package else self.target


def parse_diversions(text: str) -> dict[str, Diversion]:
    """The diversions by the path that each is about."""
    lines = whole_lines(text) if text else []
    if len(lines) % 3:
        raise ValueError("the last diversion is not whole")
    return {lines[begin]: Diversion(*lines[begin : begin + 3]) for begin in range(0, len(lines), 3)}


def parse_paths(name: str, data: bytes) -> Iterable[bytes]:
    """All paths of a list, or of a list of sums, as its name says."""
    lines = data.split(b"\n")  # as quick as the reading itself: no need to search for the few we want
    return (b"/" + line[SUM_BYTES:] for line in lines) if name.endswith(".md5sums") else lines


def find_owners(host: Host, paths: Collection[str]) -> Reading[Mapping[str, str]]:
    """The packages that own these paths; `detail` says which lists could not be read, if any."""
    diversions = host.read(f"{FOLDER}/diversions", errors="surrogateescape").parsed(parse_diversions)
    folders = {folder: host.names(folder) for folder in (f"{FOLDER}/info", f"{FOLDER}/status.d")}
    readings: list[Reading[Any]] = [diversions, *folders.values()]
    for reading in readings:
        if reading.absence not in (None, Absence.NOT_SUPPORTED):
            return reading.without_value()
    diverted = diversions.value or {}
    sources = (diversion.source for diversion in diverted.values() if diversion.target in paths)
    wanted = {os.fsencode(path) for path in (*paths, *sources)}
    owners: dict[str, str] = {}
    unread: list[Reading[Mapping[str, str]]] = []
    lists = [(folder, name) for folder, names in folders.items() for name in _lists(names.value or ())]
    for folder, name in lists:
        try:
            with host.found(f"{folder}/{name}") as path:
                data = read_whole(path)
        except OSError as error:
            unread.append(missing(f"{folder}/{name}", error))
            continue
        if found := wanted.intersection(parse_paths(name, data)):
            package = _package(host, folder, name)
            for owned in map(os.fsdecode, found):
                place = diverted[owned].place_for(package) if owned in diverted else owned
                owners[place] = min(package, owners.get(place, package))
    if not lists:
        return Reading(absence=Absence.NOT_SUPPORTED, detail=f"{FOLDER}/info: no list of files")
    if len(unread) == len(lists):
        return unread[0]
    detail = f"{len(unread)} of {len(lists)} lists of files: {unread[0].reason}" if unread else ""
    return Reading({path: owners[path] for path in paths if path in owners}, detail=detail)


def _lists(names: Iterable[str]) -> Iterator[str]:
    """The one list of every package: that of the sums only where there is no other."""
    known = {name for name in names if name.endswith(".list")}
    yield from known
    for name in names:
        if name.endswith(".md5sums") and f"{name.removesuffix('.md5sums')}.list" not in known:
            yield name


def _package(host: Host, folder: str, name: str) -> str:
    stem = name.rpartition(".")[0]
    if folder.endswith("/info"):
        return stem.partition(":")[0]  # libc6:amd64
    entries = _read_part(host, stem).value  # there the name of the file is not always that of the package
    return entries[0].package.name if entries else stem
