"""The files of a sealed segment that are worth sending: all but perf's own."""

from __future__ import annotations

import re
import stat

from necroscope.fleet.ship.canonical import digest_of
from necroscope.fleet.ship.parts import SegmentFile
from necroscope.sources.plain_files import read_plain
from necroscope.store.seal import PROFILE
from necroscope.store.segment_damage import damaged_segment
from necroscope.store.segment_description import ListedFile
from necroscope.store.store import CAPTURE, DESCRIPTION, MAX_DESCRIPTION_BYTES, StoredSegment

NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
DIGEST = re.compile(r"[0-9a-f]{64}")


def files_of(segment: StoredSegment, *, with_samples: bool) -> list[SegmentFile]:
    """What the description lists, and the description itself. StoreError where one is not as it says."""
    description = read_plain(segment.folder / DESCRIPTION, MAX_DESCRIPTION_BYTES)
    listed = [_checked(segment, file) for file in segment.description.files]
    wanted = [
        file
        for file in listed
        if not file.name.startswith(CAPTURE) and (with_samples or not file.name.startswith(f"{PROFILE}/"))
    ]
    return [SegmentFile(DESCRIPTION, len(description), digest_of(description)), *wanted]


def _checked(segment: StoredSegment, file: ListedFile) -> SegmentFile:
    path = segment.folder / file.name
    if not NAME.fullmatch(file.name) or file.bytes is None or not DIGEST.fullmatch(file.sha256):
        raise damaged_segment(f"{segment.folder / DESCRIPTION} lists a file that cannot be: '{file.name}'")
    try:
        status = path.lstat()
    except OSError as error:
        raise damaged_segment(f"{path}: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode) or status.st_size != file.bytes:
        raise damaged_segment(f"{path} is not the file that was sealed")
    return SegmentFile(file.name, file.bytes, file.sha256)
