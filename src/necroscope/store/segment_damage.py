"""Errors of segments that cannot be read."""

from __future__ import annotations

from pathlib import Path

from necroscope.errors import NecroscopeError, StoreError
from necroscope.store.store_place import not_permitted


def damaged_segment(what: str) -> StoreError:
    """Return the error of a damaged segment, and what to do about it."""
    return StoreError(what, hint="the segment is damaged: remove its folder, or restore it")


def unreadable_file(path: Path, error: Exception) -> NecroscopeError:
    """Return the error of a file of a segment: this user may not read it, or it is damaged."""
    if isinstance(error, PermissionError):
        return not_permitted(path)
    return damaged_segment(f"{path}: {error}")
