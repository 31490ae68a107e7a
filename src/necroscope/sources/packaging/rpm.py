"""The database of RPM: the installed packages of Fedora, RHEL, Amazon Linux and SUSE, and their files.

Reads    rpmdb.sqlite, Packages.db (NDB) or Packages (Berkeley DB) in /usr/lib/sysimage/rpm, /var/lib/rpm
         or /usr/share/rpm
Needs    nothing; where SQLite's log of changes has not been merged, a place for temporary files
Costs    32 ms for 516 packages with 10 MB of headers in SQLite, 40 ms in the others; as much for owners

A record that is damaged makes the whole database unreadable for us: a package that is left out would
look like one that is not installed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import TypeVar

from necroscope.model.package import Package
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing
from necroscope.sources.packaging import rpm_bdb, rpm_ndb
from necroscope.sources.packaging.rpm_header import RpmHeader, parse_header

T = TypeVar("T")

FOLDERS = ("/usr/lib/sysimage/rpm", "/var/lib/rpm", "/usr/share/rpm")  # the last is that of rpm-ostree
FILES = ("rpmdb.sqlite", "Packages.db", "Packages")
MOST_DATABASE_BYTES = 512 << 20
MAX_PACKAGES = 100_000  # the pages of a file may repeat: it need not be as large as what it says


def read_installed(host: Host) -> Reading[tuple[Package, ...]]:
    """The installed packages."""
    return _read(host, RpmHeader.package)


def find_owners(host: Host, paths: Collection[str]) -> Reading[Mapping[str, str]]:
    """The packages that own these paths; of several the first by name."""
    folders: dict[str, set[str]] = {}
    for path in paths:
        folder, slash, name = path.rpartition("/")
        folders.setdefault(folder + slash, set()).add(name)

    def owned(header: RpmHeader) -> tuple[str, tuple[str, ...]]:
        found = tuple(header.paths_in(folders))
        return (header.package().name if found else "", found)

    reading = _read(host, owned)
    if reading.value is None:
        return reading.without_value()
    return Reading({path: name for name, found in sorted(reading.value, reverse=True) for path in found})


def _read(host: Host, extract: Callable[[RpmHeader], T]) -> Reading[tuple[T, ...]]:
    """What `extract` makes of every package, from the first database that has any."""
    for name in (f"{folder}/{file}" for folder in FOLDERS for file in FILES):
        try:
            blobs = islice(_headers(host, name), MAX_PACKAGES + 1)
            values = tuple(extract(parse_header(blob)) for blob in blobs)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return missing(name, error)
        except ValueError as error:
            return Reading(absence=Absence.BROKEN, detail=f"{name}: {error}")
        if len(values) > MAX_PACKAGES:
            return Reading(absence=Absence.BROKEN, detail=f"{name}: more than {MAX_PACKAGES} packages")
        if values:  # RPM leaves an empty one behind when it is asked in the wrong place
            return Reading(values)
    return Reading(absence=Absence.NOT_SUPPORTED, detail=f"no packages of RPM in {', '.join(FOLDERS)}")


def _headers(host: Host, name: str) -> Iterator[bytes]:
    with host.found(name) as path:
        status = os.stat(path)  # noqa: PTH116 - the price of a Path
        if not stat.S_ISREG(status.st_mode):  # to open a pipe in somebody's tree would hold us up
            raise ValueError("it is not a file")
        if status.st_size > MOST_DATABASE_BYTES:
            raise ValueError(f"{status.st_size} bytes are too many for a database")
        if name.endswith(".sqlite"):
            # Imported here: SQLite takes longer to load than it takes to see that there is no RPM.
            from necroscope.sources.packaging import rpm_sqlite

            yield from rpm_sqlite.read_headers(host, name, status.st_size)
            return
        with open(path, "rb") as file:  # noqa: PTH123
            if name.endswith(".db"):
                yield from rpm_ndb.read_headers(file, status.st_size)
            else:
                yield from rpm_bdb.open_hash(file).headers()
