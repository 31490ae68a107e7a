from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

from necroscope.remedies.actions.purge_limits import noise_floor
from necroscope.sources.host import Host


def test_every_number_has_a_unit_and_a_reason() -> None:
    rows = tomllib.loads(files("necroscope.remedies").joinpath("rules/purge.toml").read_text())
    assert all(row["value"] > 0 and row["unit"] and len(row["why"]) > 40 for row in rows.values())


def test_the_floor_grows_with_the_cores(tmp_path: Path) -> None:
    online = tmp_path / "sys/devices/system/cpu/online"
    online.parent.mkdir(parents=True)
    online.write_text("0-1\n")
    assert noise_floor(Host(tmp_path)) == 58
    online.write_text("0-95\n")
    assert noise_floor(Host(tmp_path)) == 434
