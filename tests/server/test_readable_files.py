from __future__ import annotations

import os
from pathlib import Path

import pytest

from necroscope.errors import StoreError
from necroscope.server.readable_files import LARGEST_DESCRIPTION_BYTES, require_files
from necroscope.store.store import DESCRIPTION


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    for name in (DESCRIPTION, "counters/cores.parquet", "profile/samples.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    return tmp_path


def test_files_and_folders_and_links_to_them(segment: Path) -> None:
    (segment / "perf.data").symlink_to(segment / "counters/cores.parquet")
    require_files(segment)


@pytest.mark.parametrize(
    "name", [DESCRIPTION, "counters/cores.parquet", "profile/samples.parquet", "perf.data"]
)
def test_a_pipe(segment: Path, name: str) -> None:
    (segment / name).unlink(missing_ok=True)
    os.mkfifo(segment / name)
    with pytest.raises(StoreError, match=f"{name}: not a file"):
        require_files(segment)


def test_a_link_to_a_device_without_end(segment: Path) -> None:
    (segment / DESCRIPTION).unlink()
    (segment / DESCRIPTION).symlink_to("/dev/zero")
    with pytest.raises(StoreError, match="not a file"):
        require_files(segment)


def test_a_description_that_would_fill_the_memory(segment: Path) -> None:
    os.truncate(segment / DESCRIPTION, LARGEST_DESCRIPTION_BYTES + 1)
    with pytest.raises(StoreError, match="too large"):
        require_files(segment)


def test_what_cannot_be_looked_at_is_left_to_those_who_read_it(segment: Path) -> None:
    (segment / "gone").symlink_to("nowhere")
    (segment / "loop").symlink_to("loop")
    require_files(segment)
    require_files(segment / "not-there")
