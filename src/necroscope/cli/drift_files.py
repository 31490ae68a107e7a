"""The snapshot files of a command line: which they are, and what is in them, one after the other."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from necroscope.errors import CannotLookError, NecroscopeError, UsageError
from necroscope.inventory.drift.fact_table import FactTable, Hosts
from necroscope.inventory.snapshot import read_snapshot

ALL = "all"  # the one group of hosts that are compared as they are


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """What was asked for: single hosts, or groups of them."""

    paths: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] | None


@dataclass(frozen=True, slots=True)
class Unread:
    """A file of a folder that is no snapshot."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReadGroups:
    """All hosts side by side, who is in which group, and the files that could not be read."""

    table: FactTable
    sets: Mapping[str, Hosts]
    unread: tuple[Unread, ...]


def read_groups(files: SnapshotFiles) -> ReadGroups:
    """Read every file once. A bad one that was named is an error; a bad one in a folder is left out."""
    table = FactTable()
    unread: list[Unread] = []
    sets: dict[str, Hosts] = {}
    seen: dict[Path, str] = {}
    places: list[Path] = []
    twice: list[Path] = []
    for group, paths in (files.groups or {ALL: files.paths}).items():
        sets[group] = 0
        for path, was_named in _found(paths):
            if other := seen.get(path.resolve()):
                if other != group:
                    raise UsageError(f"{path} is in two groups, {other} and {group}")
                twice.append(path)  # once is enough
                continue
            seen[path.resolve()] = group
            try:
                snapshot = read_snapshot(path)
            except NecroscopeError as error:
                if was_named:
                    raise
                unread.append(Unread(str(path), error.what))
                continue
            sets[group] |= 1 << len(table.hosts)
            table.add(snapshot, snapshot.host or path.stem)
            places.append(path)
    if empty := [group for group, hosts in sets.items() if not hosts]:
        what = "no snapshot" if files.groups is None else f"no snapshot in group {', '.join(empty)}"
        raise CannotLookError(
            what, hint=unread[0].reason if unread else "necroscope snapshot -o FILE makes one"
        )
    if len(table.hosts) < 2:
        what = f"{twice[0]} is named twice, and" if twice else "one snapshot"
        raise CannotLookError(f"{what} has nothing to be compared with", hint="necroscope drift A B")
    table.hosts[:] = _own_names(table.hosts, places)
    return ReadGroups(table, sets, tuple(unread))


def _found(paths: tuple[str, ...]) -> Iterator[tuple[Path, bool]]:
    """The files behind some words, and whether each was named itself."""
    for word in paths:
        path = Path(word)
        if path.is_dir():
            yield from ((file, False) for file in sorted(path.glob("*.json")))
        elif path.exists() or not glob.has_magic(word):
            yield path, True
        else:
            found = sorted(glob.glob(word))  # noqa: PTH207 - the pattern may begin with a slash
            if not found:
                raise UsageError(f"no file is called {word}")
            yield from ((Path(file), False) for file in found)


def _own_names(hosts: list[str], places: list[Path]) -> Iterator[str]:
    """A name for each host that no other has: with its file's where two are called the same."""
    counts = Counter(hosts)
    stems = Counter((host, place.stem) for host, place in zip(hosts, places, strict=True))
    for host, place in zip(hosts, places, strict=True):
        if counts[host] == 1:
            yield host
        else:
            yield f"{host} ({place.stem if stems[host, place.stem] == 1 else place})"
