"""The samples of a segment that is still open: what perf has written until now, sealed for this once."""

from __future__ import annotations

import tempfile
from pathlib import Path

from necroscope.errors import ImportFileError, StoreError
from necroscope.profiles.import_ import seal_capture
from necroscope.recording.journal import JOURNAL, read_journal
from necroscope.recording.store import StoredSegment

_made: dict[tuple[Path, int], tempfile.TemporaryDirectory[str]] = {}  # gone when the program ends


def open_profile(segment: StoredSegment) -> Path:
    """A folder with the profile of an open segment, as of the first time it was asked for."""
    key = segment.folder, segment.end_ns
    if key not in _made:
        _made[key] = tempfile.TemporaryDirectory(prefix="necroscope-")
        try:
            journal = read_journal((segment.folder / JOURNAL).read_bytes())
            clip = journal.clip_begin_ns, journal.clip_end_ns
            seal_capture(segment.capture, Path(_made[key].name), segment.boot_id, *clip)
        except (ImportFileError, OSError) as error:
            raise StoreError(f"{segment.capture}: cannot be read yet: {error}") from error
    return Path(_made[key].name)
