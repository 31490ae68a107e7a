"""What is done about segments whose samples cannot be read: they are left out, and the rest is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from necroscope.errors import CannotLookError, StoreError
from necroscope.profiles.window import Selection, touched, window
from necroscope.store.store import DESCRIPTION, Damage, StoredSegment

T = TypeVar("T")
UNREADABLE = (StoreError, CannotLookError)  # damaged, or not permitted


def skip_unreadable(
    read: Callable[[list[StoredSegment]], T],
    segments: list[StoredSegment],
    selection: Selection,
    damaged: list[Damage],
) -> tuple[T, list[StoredSegment]]:
    """What `read` makes of the samples, and the segments it could be made of.

    Only where that fails, each segment is tried by itself; where none is left, it is the error.
    """
    try:
        return read(segments), segments
    except UNREADABLE:
        inside = touched(segments, selection)
        bad = {segment.folder: fault for segment in inside if (fault := _fault(segment))}
        if not bad or len(bad) == len(inside):
            raise
    for folder, fault in bad.items():
        if (folder / DESCRIPTION).exists():  # else it was removed meanwhile: retention does that
            damaged.append(Damage(folder, fault))
    left = [segment for segment in segments if segment.folder not in bad]
    return read(left), left


def _fault(segment: StoredSegment) -> StoreError | CannotLookError | None:
    try:
        window([segment], Selection(segment.begin_ns, segment.end_ns + 1), "whole")
    except UNREADABLE as error:
        return error
    return None
