"""Generated fleets that are asked through their tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lab.fleets.plan import Plan
from lab.fleets.tables import write_fleet
from necroscope.cli.main import main
from necroscope.fleet.engine.engine import LocalEngine
from necroscope.fleet.engine.gathering import Gathering, gather_files, merge_parts
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.timestamp import iso_utc


def made(folder: Path, plan: Plan) -> list[str]:
    """Write the tables of a fleet, and give the words that name it and its time."""
    write_fleet(folder, plan)
    begin, end = (iso_utc(time_us * 1000) for time_us in (plan.begin_us, plan.end_us))
    return ["--fleet", str(folder), "-b", begin, "-e", end]


def asked(
    capsys: pytest.CaptureFixture[str], question: str, fleet: list[str], *words: str
) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of a question."""
    code = main(["fleet", question, *fleet, *words, "--json"])
    return code, json.loads(capsys.readouterr().out, parse_constant=_refuse)


class Shared(LocalEngine):
    """Gathers some files each time and puts the parts together, as three workers would."""

    def gather(self, tables: FleetTables, gathering: Gathering, begin_us: int, end_us: int) -> pa.Table:
        """All that a gathering finds in a range of time."""
        paths = tables.paths(gathering.table, begin_us, end_us)
        shares = [paths[start::3] for start in (2, 0, 1) if paths[start::3]]
        parts = [gather_files(gathering, share, begin_us, end_us) for share in shares]
        return merge_parts(gathering, parts) if parts else gather_files(gathering, [], begin_us, end_us)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")
