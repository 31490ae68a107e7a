"""The segments of a host that can be shipped, in order, each at its right time of day."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from necroscope.errors import NecroscopeError
from necroscope.fleet.ship.parts import BOOT, SEGMENT_NAME
from necroscope.store.retention import Entry, in_order, read_entries
from necroscope.store.store import DESCRIPTION, Damage, StoredSegment, read_segment
from necroscope.store.wall_time import with_right_clocks

MOST_LOOKS = 50  # at segments of a boot, for one whose clock was right


class Recorded:
    """One look at the folder of a host. Imported captures are not in it: they are their owner's."""

    def __init__(self, folder: Path) -> None:
        self.damaged: dict[Path, Damage] = {}
        self.names = {path.name for path in folder.iterdir() if SEGMENT_NAME.fullmatch(path.name)}
        self._folder = folder
        entries = in_order(read_entries(folder))
        self.entries = [one for one in entries if one.name in self.names and BOOT.fullmatch(one.boot_id[:8])]
        for name in self.names - {one.name for one in entries}:
            with self.damage_noted(name):
                read_segment(folder / name)

    def read(self, entry: Entry) -> tuple[StoredSegment, bool]:
        """A segment, and whether its time of day is known to be right."""
        segment = read_segment(self._folder / entry.name)
        if segment.description.clock.synchronised:
            return segment, True
        same_boot = [one for one in self.entries if one.boot_id == entry.boot_id and not one.is_open]
        for near in same_boot[-MOST_LOOKS:][::-1]:
            try:
                other = read_segment(self._folder / near.name)
            except NecroscopeError:
                continue
            if other.description.clock.synchronised:
                return with_right_clocks([other, segment])[1], True
        return segment, False

    @contextmanager
    def damage_noted(self, name: str) -> Iterator[None]:
        """One that cannot be read does not hold up the others; of one that is gone nothing is told."""
        folder = self._folder / name
        try:
            yield
        except NecroscopeError as error:
            if (folder / DESCRIPTION).exists():
                self.damaged[folder] = Damage(folder, error)
        except FileNotFoundError:
            if (folder / DESCRIPTION).exists():
                raise
