"""What a source says is the same after it was rows of tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from necroscope.model.reading import Absence, Reading
from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host
from necroscope.sources.source import Read, Source
from necroscope.store.sampler import Sampler
from necroscope.store.tables import shape_of

HOSTS = [Path("/"), *sorted((Path(__file__).parents[1] / "hosts").glob("debian-*"))]
KINDS = {"int": int, "float": int | float, "text": str, "bool": bool}


class Pair(NamedTuple):
    name: str
    value: int | None


@dataclass(frozen=True, slots=True)
class Inner:
    low: int | None
    high: float


@dataclass(frozen=True, slots=True)
class Outer:
    name: str
    inner: Inner
    maybe: Inner | None
    version: Literal[1, 2]
    on: bool | None
    pairs: tuple[Pair, ...]
    cores: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bare:
    words: tuple[str, ...]
    count: int


OUTER = Outer("a", Inner(1, 0.5), None, 2, None, (Pair("x", 1), Pair("y", None)), (3, 4))
EMPTY = Outer("", Inner(None, 0.0), Inner(7, 1.0), 1, True, (), ())


def source_of(open_: Callable[[Host], Read[Any]]) -> Source[Any]:
    return Source("made-up", open_)


def open_outers(_: Host) -> Read[tuple[Outer, ...]]:
    return lambda: Reading((OUTER, EMPTY))


def open_bare(_: Host) -> Read[Bare]:
    return lambda: Reading(Bare((), 1))


def open_dicts(_: Host) -> Read[tuple[dict[str, int], ...]]:
    return lambda: Reading(({},))


def test_nested_optional_and_empty_values_come_back() -> None:
    shape = shape_of(source_of(open_outers))
    for value in ((OUTER, EMPTY), (EMPTY, OUTER, OUTER), (EMPTY,), ()):
        assert shape.value(shape.rows(value)) == value


def test_a_single_value_is_one_row_even_when_its_lists_are_empty() -> None:
    shape = shape_of(source_of(open_bare))
    assert shape.rows(Bare((), 1)) == [[[1]], []]
    for value in (Bare((), 1), Bare(("a", ""), 2)):
        assert shape.value(shape.rows(value)) == value


def test_parts_become_columns_with_a_prefix_and_lists_tables_of_their_own() -> None:
    main, pairs, cores = shape_of(source_of(open_outers)).tables
    assert main.columns == (
        ("name", "text"),
        ("inner_low", "int"),
        ("inner_high", "float"),
        ("maybe_low", "int"),
        ("maybe_high", "float"),
        ("version", "int"),
        ("on", "bool"),
    )
    assert (pairs.name, pairs.columns) == ("made-up.pairs", (("name", "text"), ("value", "int")))
    assert (cores.name, cores.columns) == ("made-up.cores", (("value", "int"),))


def test_a_field_without_a_column_is_refused_at_once() -> None:
    with pytest.raises((TypeError, AttributeError)):
        shape_of(source_of(open_dicts))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.id)
def test_every_source_has_a_shape(source: Source[Any]) -> None:
    tables = shape_of(source).tables
    assert tables[0].name == source.id
    for table in tables:
        names = [name for name, _ in table.columns]
        assert names
        assert len({*names, "time", "of"}) == len(names) + 2, "time and of are taken"


@pytest.mark.parametrize("root", HOSTS, ids=lambda root: root.name or "this machine")
def test_real_readings_come_back_as_they_were(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    sampler = Sampler(Host(root))
    sampler.read(everything=True)
    moment = Sampler(Host(root)).read(everything=True)
    again = sampler.read(everything=True)  # of sources that tell what came since
    came_back = set()
    for name, reading in (*moment.readings.items(), *again.readings.items()):
        if reading.value is not None:
            shape = shape_of(next(source for source in SOURCES if source.id == name))
            rows = shape.rows(reading.value)
            assert shape.value(rows) == reading.value, name
            assert shape.value(json.loads(json.dumps(rows))) == reading.value, f"{name} through a journal"
            _check_kinds(shape.tables, rows)
            came_back.add(name)
    assert {"cores", "softirqs", "interrupts", "memory-cgroups"} - came_back <= _absent(moment.readings)
    assert "cores" in came_back


def _absent(readings: Any) -> set[str]:
    return {name for name, reading in readings.items() if isinstance(reading.absence, Absence)}


def _check_kinds(tables: Any, rows: Any) -> None:
    """Every value is of the kind that its column has, or a Parquet file would refuse it."""
    for number, (table, table_rows) in enumerate(zip(tables, rows, strict=True)):
        for row in table_rows:
            values = row[1:] if number else row  # `of` comes first
            for (name, kind), value in zip(table.columns, values, strict=True):
                assert value is None or isinstance(value, KINDS[kind]), f"{table.name}.{name}"
                assert kind == "bool" or not isinstance(value, bool), f"{table.name}.{name}"
