"""What is kept when room runs out: the newest, and for longer what had events and what was around them.

Segments are ordered by boot and by the recording's clock, not by the wall clock, which may have been set
back. A cache beside the segments saves reading thousands of descriptions every time; it can be deleted.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from necroscope.sources.plain_files import read_plain
from necroscope.store.durable import write_durably
from necroscope.store.store import CAPTURE, DESCRIPTION, MAX_DESCRIPTION_BYTES, OPEN

# What reading a description raises that says something else than it should, or is not even text.
DAMAGED = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
CACHE = ".index.json"
MAX_CACHE_BYTES = 64 << 20
GOING = ".going-"  # what is being removed
FREE_SHARE = 0.1  # of the file system is left to others, whatever the budget says
UNREAD_SHARE = 0.125  # of the budget, beside it: for captures that could not be read
OWN_SHARE = 0.2  # of it is ours: who else fills it does not get all of the past


@dataclass(frozen=True, slots=True)
class Budget:
    """How much the segments of a host may take, and how old they may get."""

    total_bytes: int = 8 << 30
    kept_bytes: int = 2 << 30  # of it for segments with events and their neighbours
    age_seconds: float = 7 * 86400.0

    def on(self, folder: Path, own_bytes: int, unread_bytes: int = 0) -> Budget:
        """The budget that the file system has room for, when we have so much of it already.

        Captures that are being written, or could not be read, take of the room but not of the budget: whoever
        makes them large must not evict what was recorded from a disk that has room for both.
        """
        disk = shutil.disk_usage(folder)
        room = max(own_bytes + disk.free - disk.total * FREE_SHARE, disk.total * OWN_SHARE) - unread_bytes
        total = min(self.total_bytes, max(int(room), 0))
        return replace(self, total_bytes=total, kept_bytes=min(self.kept_bytes, total // 2))


@dataclass(frozen=True, slots=True)
class Entry:
    """What retention has to know of a segment."""

    name: str
    stamp: int  # of its description: another one has to be read again
    boot_id: str
    begin_monotonic_ns: int
    end_ns: int  # UTC
    size_bytes: int  # without `unread_bytes`
    kept: int  # how much it is worth, as model.event says
    is_open: bool
    unread_bytes: int = 0  # of a capture that is still being written, or could not be read and was kept


def make_room(folder: Path, budget: Budget, now_ns: int) -> list[Entry]:
    """Remove what is beyond the budget; what is left comes back, oldest first."""
    entries = in_order(read_entries(folder))
    unread_bytes = sum(entry.unread_bytes for entry in entries if entry.boot_id)
    own_bytes = sum(entry.size_bytes for entry in entries if entry.boot_id) + unread_bytes
    budget = budget.on(folder, own_bytes, unread_bytes)
    entries = list(_without_old_captures(folder, entries, int(budget.total_bytes * UNREAD_SHARE)))
    doomed = set(beyond(entries, budget, now_ns))
    for entry in doomed:
        # Under another name first: nobody meets a segment that is half gone, and the next one ends this.
        with suppress(OSError):
            (folder / entry.name).rename(folder / f"{GOING}{entry.name}")
    for path in folder.glob(f"{GOING}*"):
        shutil.rmtree(path, ignore_errors=True)
    left = [entry for entry in entries if entry not in doomed]
    with suppress(OSError):  # a full disk: the next one reads all descriptions again
        write_durably(folder / CACHE, json.dumps([asdict(entry) for entry in left]).encode())
    return left


def _without_old_captures(folder: Path, entries: Sequence[Entry], room: int) -> Iterator[Entry]:
    """Remove captures that could not be read, but for the newest: they do not take the room of segments."""
    keeps = set()
    for entry in reversed(entries):
        room -= 0 if entry.is_open else entry.unread_bytes
        if entry.is_open or room >= 0:
            keeps.add(entry.name)
    for entry in entries:
        if entry.name in keeps or not entry.unread_bytes:
            yield entry
            continue
        for path in (folder / entry.name).glob(f"{CAPTURE}*"):
            with suppress(OSError):
                path.unlink()
        yield replace(entry, unread_bytes=0)


def beyond(entries: Sequence[Entry], budget: Budget, now_ns: int) -> Iterator[Entry]:
    """The segments that must go. Open ones stay, and those that were imported."""
    entries = [entry for entry in entries if entry.boot_id]  # an imported capture is its owner's to remove
    kept = set()
    room = budget.kept_bytes
    for entry in _worth_most_first(entries):
        # An open one stays anyway. A large one leaves the room to those after it.
        if entry.is_open or entry.size_bytes > room:
            continue
        room -= entry.size_bytes
        kept.add(entry.name)
    total = sum(entry.size_bytes for entry in entries if not entry.is_open)
    newest = {entry.boot_id: entry for entry in entries if entry.boot_id}
    for entry in entries:
        too_old = now_ns - _end_ns(entry, newest) > budget.age_seconds * 1e9
        if entry.is_open or entry.name in kept or not (too_old or total > budget.total_bytes):
            continue
        total -= entry.size_bytes
        yield entry


def _end_ns(entry: Entry, newest: Mapping[str, Entry]) -> int:
    """When it ended, by the clock of the newest segment of its boot: it may have begun with a wrong one."""
    last = newest.get(entry.boot_id, entry)
    return last.end_ns - (last.begin_monotonic_ns - entry.begin_monotonic_ns)


def _worth_most_first(entries: Sequence[Entry]) -> list[Entry]:
    """The segments with events and those beside them; what is worth as much, the newest first."""
    worth: dict[int, int] = {}
    for place, entry in enumerate(entries):
        for near in (place - 1, place, place + 1):
            if entry.kept and 0 <= near < len(entries) and entries[near].boot_id == entry.boot_id:
                worth[near] = max(worth.get(near, 0), entry.kept)
    return [entries[place] for place in sorted(worth, key=lambda place: (-worth[place], -place))]


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Oldest first. Boots follow each other by the last time of day they had: the likeliest to be right."""
    last: dict[str, int] = defaultdict(int)
    for entry in entries:
        last[entry.boot_id] = max(last[entry.boot_id], entry.end_ns)
    return sorted(
        entries,
        key=lambda e: (last[e.boot_id] if e.boot_id else e.end_ns, e.boot_id, e.begin_monotonic_ns, e.name),
    )


def read_entries(folder: Path) -> list[Entry]:
    """All segments of a host, from the cache where it is right."""
    known: dict[str, Entry] = {}
    with suppress(OSError, *DAMAGED):
        known = {row["name"]: Entry(**row) for row in json.loads(read_plain(folder / CACHE, MAX_CACHE_BYTES))}
    entries = []
    for path in folder.glob(f"[!.]*/{DESCRIPTION}"):
        with suppress(OSError, *DAMAGED):  # gone, or damaged: a person must look
            stamp = path.stat().st_mtime_ns
            entry = known.get(path.parent.name)
            current = entry and entry.stamp == stamp and not entry.is_open
            entries.append(entry if entry and current else _read(path, stamp))
    return entries


def _read(path: Path, stamp: int) -> Entry:
    document = json.loads(read_plain(path, MAX_DESCRIPTION_BYTES))
    is_open = document["state"] == OPEN
    sizes = {file: file.stat().st_size for file in path.parent.rglob("*") if file.is_file()}
    is_unread = is_open or bool(document.get("no_profile"))
    unread = sum(size for file, size in sizes.items() if is_unread and file.name.startswith(CAPTURE))
    return Entry(
        name=path.parent.name,
        stamp=stamp,
        boot_id=document["host"].get("boot_id", ""),
        begin_monotonic_ns=document["begin_ns"] - document["clock"]["offset_ns"],
        end_ns=document["end_ns"],
        size_bytes=sum(sizes.values()) - unread,
        unread_bytes=unread,
        kept=int(document.get("kept", 0)),
        is_open=is_open,
    )
