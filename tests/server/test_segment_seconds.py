from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from necroscope import _native
from necroscope.server.recorded_store import SegmentSeconds
from necroscope.signals.core_states import cores_file
from tests.stored import sealed_segment, seconds_of


def files_of(root: Path, count: int) -> list[tuple[Path, int]]:
    segments = [sealed_segment(root, seconds_of(["system"] * 3), host=f"n{n}") for n in range(count)]
    return [(cores_file(segment) or Path(), segment.offset_ns) for segment in segments]


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, kept = files_of(tmp_path, 2), SegmentSeconds()
    first = kept.of(files)
    asked = Mock(return_value=[])
    monkeypatch.setattr(_native, "seconds_of_files", asked)
    assert kept.of(files[::-1]) == first[::-1]
    asked.assert_called_once_with([])


def test_the_memory_is_bounded_and_what_was_asked_for_last_stays(tmp_path: Path) -> None:
    files = files_of(tmp_path, 4)
    one = SegmentSeconds()
    one.of(files[:1])
    kept = SegmentSeconds(max_bytes=2 * one.size_bytes)
    for file in (files[0], files[1], files[0], files[2]):
        kept.of([file])
    assert kept.size_bytes == 2 * one.size_bytes
    assert list(kept._kept) == [files[0], files[2]]


def test_more_than_is_kept_comes_back_all_the_same(tmp_path: Path) -> None:
    files, kept = files_of(tmp_path, 3), SegmentSeconds(max_bytes=1)
    assert all(isinstance(seconds, _native.SegmentHeat) for seconds in kept.of(files))
    assert kept.size_bytes == 0


def test_an_error_is_not_kept(tmp_path: Path) -> None:
    (file,) = files_of(tmp_path, 1)
    kept, elsewhere = SegmentSeconds(), file[0].with_suffix(".away")
    file[0].rename(elsewhere)
    assert isinstance(kept.of([file])[0], OSError)
    elsewhere.rename(file[0])
    assert isinstance(kept.of([file])[0], _native.SegmentHeat)
