"""What holds for every source, and what each says of this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import necroscope.sources
from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host
from necroscope.sources.source import Source

each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.id)


def test_every_source_is_listed_once() -> None:
    folder = Path(necroscope.sources.__path__[0])
    declared = {
        path.stem for path in folder.glob("*.py") if re.search(r"^[A-Z_]+ = Source\(", path.read_text(), re.M)
    }
    assert sorted(source.id for source in SOURCES) == sorted(name.replace("_", "-") for name in declared)


@each_source
def test_one_id_everywhere(source: Source[Any]) -> None:
    assert source.open.__module__ == f"necroscope.sources.{source.id.replace('-', '_')}"


@each_source
def test_a_source_says_what_it_reads_needs_and_costs(source: Source[Any]) -> None:
    assert [line.split()[0] for line in source.doc.splitlines() if re.match(r"[A-Z]\w+ {4}", line)][:3] == [
        *("Reads", "Needs", "Costs"),
    ]


@each_source
def test_this_machine_gives_a_value_or_a_reason(source: Source[Any]) -> None:
    read = source.open(Host())
    for reading in (read(), read()):
        assert (reading.value is None) == (reading.absence is not None)
        assert reading.value is not None or reading.detail


@each_source
def test_a_host_that_is_not_there_gives_a_reason(source: Source[Any], tmp_path: Path) -> None:
    reading = source.open(Host(tmp_path / "nothing"))()
    if source.id == "instance":
        assert reading.value  # all labels empty
    else:
        assert reading.value is None
        assert reading.absence
        assert reading.detail
