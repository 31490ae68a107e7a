"""The folders in which systemd looks for units, and what lies in them.

Reads    /etc, /run, /usr/local/lib, /usr/lib and /lib, in each systemd/system and its like
Needs    permission to read them; nothing is run
Costs    most of the 0.1 ms per unit: a file is read and parsed once, however many names it has
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from necroscope.sources.host import Host, missing, read_whole
from necroscope.sources.systemd.unit_names import parse_unit_name
from necroscope.sources.systemd.unit_settings import Assignment, decode, parse_unit_file

PERSISTENT = "/etc/systemd/system"
RUNTIME = "/run/systemd/system"
TRANSIENT = "/run/systemd/transient"
GENERATED = ("/run/systemd/generator", "/run/systemd/generator.early", "/run/systemd/generator.late")
# The first that has a unit's file wins.
SEARCH_PATH = (
    "/etc/systemd/system.control",
    "/run/systemd/system.control",
    TRANSIENT,
    GENERATED[1],
    PERSISTENT,
    "/etc/systemd/system.attached",
    RUNTIME,
    "/run/systemd/system.attached",
    GENERATED[0],
    "/usr/local/lib/systemd/system",
    "/lib/systemd/system",  # before /usr/lib where they are two; gone in systemd 255
    "/usr/lib/systemd/system",
    GENERATED[2],
)
MASK = "/dev/null"  # an image need not have it
PRESETS = "/etc/systemd/system-preset"

_BELOW_SEARCH_PATH = tuple(f"{folder}/" for folder in SEARCH_PATH)


def is_searched(name: str) -> bool:
    """Whether a file lies below one of the folders, be they there or not."""
    return name.startswith(_BELOW_SEARCH_PATH)


@dataclass(frozen=True, slots=True)
class UnitFolder:
    """One folder of the search path."""

    name: str
    path: str  # where it is for us
    kinds: Mapping[str, str]  # of everything that has a unit's name: file, link, folder, other
    links: Mapping[str, str]  # of those the links, and where they lead
    needs: Mapping[str, Mapping[str, str]]  # foo.target.wants -> links in it, and where they lead
    drop_ins: Mapping[str, tuple[str, ...]]  # foo.service.d -> the *.conf in it
    followed: frozenset[str]  # of `needs`, which are links to folders: systemctl does not look into these


@dataclass(frozen=True, slots=True)
class UnitTree:
    """All folders of a host that are there, in the order in which they count."""

    host: Host
    folders: tuple[UnitFolder, ...]
    not_read: tuple[str, ...]  # folders, and why
    _paths: dict[str, str] = field(default_factory=dict)
    _parents: dict[str, str] = field(default_factory=dict)
    _parsed: dict[str, tuple[Assignment, ...] | OSError | ValueError | None] = field(default_factory=dict)

    def follow(self, folder: str, target: str) -> str:
        """What a link in `folder` leads to, as the machine calls it; a link that lies there is not followed.

        Raises OSError where there is no way to it.
        """
        whole = target if target.startswith("/") else f"{folder}/{target}"
        parent, _, name = whole.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            parent, name = whole, ""
        if parent not in self._parents:
            self._parents[parent] = resolve(self.host, parent)
        return f"{self._parents[parent]}/{name}".replace("//", "/").rstrip("/") or "/"

    def path(self, name: str) -> str:
        """Where a file is for us; its folder is resolved, itself not."""
        folder, _, base = name.rpartition("/")
        if folder not in self._paths:
            self._paths[folder] = str(self.host.path(folder))
        return f"{self._paths[folder]}/{base}"

    def parse(self, name: str, follows: bool = False) -> tuple[Assignment, ...] | None:
        """The assignments of a file; None where it is empty, a mask. Raises OSError, or ValueError.

        A link is an error unless it is to be followed, as those of drop-ins are.
        """
        if name not in self._parsed:
            try:
                if not follows and os.path.islink(self.path(name)):  # noqa: PTH114
                    raise OSError(errno.EINVAL, "not a file", name)
                with self.host.found(name) as path:
                    self._parsed[name] = _parse(path)
            except (OSError, ValueError) as error:
                self._parsed[name] = error
        result = self._parsed[name]
        if isinstance(result, Exception):
            raise result
        return result

    @property
    def refused(self) -> tuple[str, ...]:
        """Files of units that we were not permitted to read. systemd takes the next that it may read."""
        errors = ((name, error) for name, error in self._parsed.items() if isinstance(error, PermissionError))
        return tuple(missing(name, error).reason for name, error in errors)


def resolve(host: Host, name: str) -> str:
    """A folder's name without links; what is not there stays as it is.

    Raises NotADirectoryError where there is something else.
    """
    path = os.path.realpath(name) if host.is_own else str(host.path(name))
    if os.path.lexists(path) and not os.path.isdir(path):  # noqa: PTH112
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
    if host.is_own:
        return path
    return "/" + path.removeprefix(str(host.root)).lstrip("/")


def _parse(path: str) -> tuple[Assignment, ...] | None:
    # Looked at first: a pipe or a device in somebody's tree must not be opened.
    status = os.stat(path)  # noqa: PTH116 - the price of a Path
    if stat.S_ISCHR(status.st_mode) or (stat.S_ISREG(status.st_mode) and not status.st_size):
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a file", path)
    return parse_unit_file(decode(read_whole(path)))


def read_unit_tree(host: Host, *, of_next_boot: bool = False) -> UnitTree:
    """All folders of the search path that are there, and of those that could not be read, why.

    `of_next_boot` leaves out /run, which is empty then.
    """
    folders: list[UnitFolder] = []
    not_read: list[str] = []
    for name in SEARCH_PATH:
        if of_next_boot and name.startswith("/run/"):
            continue
        try:
            if name.startswith("/lib/") and resolve(host, name) == resolve(host, f"/usr{name}"):
                continue  # /usr is merged
            folders.append(_read_folder(host, name, not_read))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            not_read.append(missing(name, error).reason)
    return UnitTree(host, tuple(folders), tuple(not_read))


def _read_folder(host: Host, name: str, not_read: list[str]) -> UnitFolder:
    path = str(host.path(name))
    kinds: dict[str, str] = {}
    links: dict[str, str] = {}
    needs: dict[str, Mapping[str, str]] = {}
    drop_ins: dict[str, tuple[str, ...]] = {}
    followed: set[str] = set()
    with host.found(name) as found, os.scandir(found) as entries:
        for entry in entries:
            kind = _kind(entry)
            whole = f"{name}/{entry.name}"
            try:
                if parse_unit_name(entry.name):
                    if kind == "link":
                        links[entry.name] = os.readlink(entry.path)  # noqa: PTH115
                    kinds[entry.name] = kind
                elif kind in ("folder", "link") and entry.name.endswith((".wants", ".requires", ".upholds")):
                    with host.found(whole) as inner:
                        needs[entry.name] = _links_in(inner)
                    followed.update([entry.name] if kind == "link" else [])
                elif kind in ("folder", "link") and entry.name.endswith(".d"):
                    with host.found(whole) as inner:
                        names = os.listdir(inner)  # noqa: PTH208
                    drop_ins[entry.name] = tuple(sorted(conf for conf in names if conf.endswith(".conf")))
            except (FileNotFoundError, NotADirectoryError):
                continue  # a link to nowhere, or gone meanwhile
            except OSError as error:
                not_read.append(missing(whole, error).reason)
    return UnitFolder(name, path, kinds, links, needs, drop_ins, frozenset(followed))


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_file(follow_symlinks=False):
        return "file"
    return "folder" if entry.is_dir(follow_symlinks=False) else "other"


def _links_in(path: str) -> Mapping[str, str]:
    with os.scandir(path) as entries:
        return {entry.name: os.readlink(entry.path) for entry in entries if entry.is_symlink()}  # noqa: PTH115
