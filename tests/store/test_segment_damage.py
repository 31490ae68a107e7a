"""What a user is told of a segment that cannot be read: to repair it, or to ask for permission."""

from __future__ import annotations

from pathlib import Path

from necroscope.errors import CannotLookError, StoreError
from necroscope.store.segment_damage import damaged_segment, unreadable_file


def test_damage_comes_with_what_to_do() -> None:
    error = damaged_segment("a/b is missing")
    assert (error.what, error.hint) == (
        "a/b is missing",
        "the segment is damaged: remove its folder, or restore it",
    )


def test_a_file_that_one_may_not_read_is_not_damage(tmp_path: Path) -> None:
    assert isinstance(unreadable_file(tmp_path, PermissionError()), CannotLookError)
    damage = unreadable_file(tmp_path, ValueError("no footer"))
    assert isinstance(damage, StoreError)
    assert damage.what == f"{tmp_path}: no footer"
