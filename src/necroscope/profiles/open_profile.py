"""The samples of a segment that is still open: what perf has written until now, sealed for this once."""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from necroscope.errors import ImportFileError, StoreError
from necroscope.profiles.in_child import Sealing
from necroscope.store.journal import journal_bytes, read_journal
from necroscope.store.store import StoredSegment

MOST_KEPT = (
    4  # a server is asked for days, and every second makes a new one; a reader may still use an old one
)


@dataclass(frozen=True, slots=True)
class _Made:
    folder: tempfile.TemporaryDirectory[str]
    profile: Path  # in it


_sealing = Sealing()
_made: OrderedDict[tuple[Path, int], _Made] = OrderedDict()
_lock = Lock()


def open_profile(segment: StoredSegment) -> Path:
    """A folder with the profile of an open segment, as of the first time it was asked for."""
    key = segment.folder, segment.end_ns
    with _lock:
        if key not in _made:
            _made[key] = _sealed_now(segment)
        _made.move_to_end(key)
        while len(_made) > MOST_KEPT:
            _made.popitem(last=False)[1].folder.cleanup()
        return _made[key].profile


def _sealed_now(segment: StoredSegment) -> _Made:
    made = tempfile.TemporaryDirectory(prefix="necroscope-")  # gone when the program ends
    try:
        journal = read_journal(journal_bytes(segment.folder))
        clip = journal.clip_begin_ns, journal.clip_end_ns
        profile = _sealing.seal(segment.capture, Path(made.name), segment.boot_id, *clip)
    except (ImportFileError, OSError) as error:
        made.cleanup()
        raise StoreError(f"{segment.capture}: cannot be read yet: {error}") from error
    return _Made(made, profile)
