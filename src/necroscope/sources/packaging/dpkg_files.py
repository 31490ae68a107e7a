"""Which package of Debian or Ubuntu a file belongs to.

Reads    /var/lib/dpkg/info/*.list, or *.md5sums where there is no list; status.d/*.md5sums of images
         without a dpkg; diversions
Needs    nothing
Costs    31 ms for the lists of 900 packages (8 MB), 0.18 s for 5,400 (46 MB); hardly more for more paths

    /usr/bin/perf
    /usr/bin/perf.wrapper
    linux-perf

is a diversion: a /usr/bin/perf of any package but linux-perf is at /usr/bin/perf.wrapper.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing, read_whole, whole_lines
from necroscope.sources.packaging.dpkg import FOLDER, read_part

SUM_BYTES = 34  # the sum and two spaces before the path


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
    entries = read_part(host, stem).value  # there the name of the file is not always that of the package
    return entries[0].package.name if entries else stem
