from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lab.fleets.written_tables import write_fleet_tables
from necroscope.fleet.engine.engine import LocalEngine
from necroscope.fleet.host_facts import NOT_THERE, UNKNOWN, HostFacts, gather_facts
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.fleet.tables.read_tables import read_tables

SETS = [
    ("id-1", "labels", "l1"),
    ("id-1", "units", "u1"),
    ("id-1", "packages", "p1"),
    ("id-2", "labels", "l2"),
    ("id-2", "units", "u2"),
    ("id-3", "labels", "l1"),
]
SECTIONS = [
    ("l1", "zone", "a"),
    ("l1", "kernel", "5.10"),
    ("l1", "team/it's", "x"),
    ("l2", "zone", "unknown"),
    ("l2", "kernel", "6.1"),
    ("u1", "ecs.service/enabled", "enabled"),
    ("u1", "ecs.service/text", "sha256:1"),
    ("u2", "chrony.service/runs", "running"),
    ("p1", "zone", "not a label"),
]


@pytest.fixture
def tables(tmp_path: Path) -> FleetTables:
    write_fleet_tables(
        tmp_path,
        {
            "fact_sets": [_table(SETS, ("facts", "section", "section_id"))],
            "sections": [_table(SECTIONS, ("section_id", "name", "value"))],
        },
    )
    return read_tables(FolderPlace(tmp_path))


def _table(rows: list[tuple[str, str, str]], names: tuple[str, str, str]) -> pa.Table:
    return pa.table({name: [row[n] for row in rows] for n, name in enumerate(names)})


def values(facts: HostFacts, fact: str) -> list[str | None]:
    column = facts.column(fact)
    assert column
    return [None if code == UNKNOWN else column.values[code] for code in column.codes]


def test_values_by_id(tables: FleetTables) -> None:
    facts = gather_facts(tables, LocalEngine())
    assert facts.ids == ("id-1", "id-2", "id-3")
    assert values(facts, "labels/kernel") == ["5.10", "6.1", "5.10"]
    assert values(facts, "zone") == ["a", None, "a"], "unknown is not a value"


def test_a_unit_that_is_not_there_is_told_from_one_that_is_not_known(tables: FleetTables) -> None:
    facts = gather_facts(tables, LocalEngine())
    assert values(facts, "units/ecs.service/enabled") == ["enabled", NOT_THERE, None]
    assert facts.column("units/ecs.service/text") is None, "hosts are not compared by that"


def test_any_fact_can_be_asked_for(tables: FleetTables) -> None:
    facts = gather_facts(tables, LocalEngine(), ["packages/zone", "team/it's"])
    assert [column.fact for column in facts.columns] == ["labels/team/it's", "packages/zone"]
    assert values(facts, "packages/zone") == ["not a label", None, None]
    assert gather_facts(tables, LocalEngine(), ["no/such"]).columns == ()


def test_ids_that_nobody_knows(tables: FleetTables) -> None:
    facts = gather_facts(tables, LocalEngine())
    places = facts.places(np.array(["id-2", "", "id-9", "id-1"], dtype=object))
    assert places.tolist() == [1, UNKNOWN, UNKNOWN, 0]
    assert HostFacts((), ()).places(np.array(["x"], dtype=object)).tolist() == [UNKNOWN]
