from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.reading import Absence
from necroscope.sources import statistics_reads
from necroscope.sources.catalog import SOURCES
from necroscope.sources.hierarchies import find_hierarchy
from necroscope.sources.host import Host
from necroscope.sources.statistics_reads import FILES, open_statistics_reads

HOSTS = Path(__file__).parents[1] / "hosts"
HERE = find_hierarchy(Host(), "memory")
needs_memory = pytest.mark.skipif(HERE.value is None, reason=f"needs a memory hierarchy: {HERE.reason}")


@needs_memory
def test_the_files_of_the_root_are_timed() -> None:
    reading = open_statistics_reads(Host())()
    assert reading.value and HERE.value
    found = [read for read in reading.value if read.cgroup == "/"]
    assert [read.name for read in found] == list(FILES[HERE.value.version])
    for read in found:
        assert 0 < read.seconds <= 10
        assert read.reads in (1, 4)
        assert read.leaf_seconds is None or 0 < read.leaf_seconds < 1
        assert Path(read.file).exists()


@needs_memory
def test_a_slow_file_is_read_once_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """On kernels that walk, every read holds a core for as long as it takes."""
    monkeypatch.setattr(statistics_reads, "SLOW_SECONDS", 0.0)
    reading = open_statistics_reads(Host())()
    assert reading.value
    assert all(read.reads == 1 and read.seconds == read.first_seconds for read in reading.value)


def test_a_recorded_tree_is_not_timed() -> None:
    for tree in sorted(HOSTS.glob("debian-*")):
        reading = open_statistics_reads(Host(tree))()
        assert reading.absence is Absence.NOT_SUPPORTED, tree


def test_the_recorder_does_not_read_it() -> None:
    assert open_statistics_reads not in [source.open for source in SOURCES]
