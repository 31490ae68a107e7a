"""Journals of open segments, each read on from where the last look ended.

To read all of a journal every second is too dear: that of a host of 96 cores grows by some 100 KiB a second.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from necroscope.sources.plain_files import open_plain
from necroscope.sources.source import Source
from necroscope.store.frames import frame, payloads
from necroscope.store.journal import JOURNAL, Journal, read_journal
from necroscope.store.segment import Moment

MOST_JOURNALS = 8  # one host has two at most, unless recorders were killed
MOST_READ_BYTES = 64 << 20  # in one look; the rest comes with the next


@dataclass(slots=True)
class _Followed:
    """What was read of one journal until now."""

    inode: int
    offset: int = 0
    journal: Journal = field(default_factory=Journal)


class FollowedJournals:
    """The readings of some sources, and all events, of the journals that were asked for last."""

    def __init__(self, sources: Sequence[Source[Any]]) -> None:
        self._wanted = frozenset(source.id for source in sources)
        self._followed: OrderedDict[Path, _Followed] = OrderedDict()
        self._lock = Lock()

    def read_on(self, folder: Path) -> Journal:
        """All that is whole in the journal of a segment; FileNotFoundError once it is sealed or removed."""
        with self._lock:
            journal = self._read_on(folder).journal
            return replace(journal, moments=list(journal.moments), events=list(journal.events))

    def last_moment_ns(self, folder: Path) -> int | None:
        """When the last moment of a journal was read, on the clock of its segment."""
        with self._lock:
            moments = self._read_on(folder).journal.moments
            return moments[-1].time_ns if moments else None

    def _read_on(self, folder: Path) -> _Followed:
        try:
            with os.fdopen(open_plain(folder / JOURNAL), "rb") as file:
                status = os.fstat(file.fileno())
                followed = self._followed.get(folder)
                if not followed or followed.inode != status.st_ino or followed.offset > status.st_size:
                    followed = _Followed(status.st_ino)
                file.seek(followed.offset)
                self._add(followed, file.read(MOST_READ_BYTES))
        except FileNotFoundError:
            self._followed.pop(folder, None)
            raise
        self._followed[folder] = followed
        self._followed.move_to_end(folder)
        while len(self._followed) > MOST_JOURNALS:
            self._followed.popitem(last=False)
        return followed

    def _add(self, followed: _Followed, data: bytes) -> None:
        end = _end_of_last(data)
        more, known = read_journal(data[:end]), followed.journal
        known.moments += self._of_wanted(more.moments)
        known.anchors += more.anchors
        known.events += more.events
        known.end = more.end or known.end
        followed.offset += end

    def _of_wanted(self, moments: Iterable[Moment]) -> Iterable[Moment]:
        for moment in moments:
            found = {name: reading for name, reading in moment.readings.items() if name in self._wanted}
            yield Moment(moment.time_ns, found, {})


def _end_of_last(data: bytes) -> int:
    """Where the last whole frame ends: the one behind it may still be being written."""
    last = None
    for last in payloads(data):  # noqa: B007 - only the last is wanted
        pass
    if last is None:
        return 0
    whole = frame(last)
    return data.rfind(whole) + len(whole)
