"""The numbers that detectors decide by: defaults with their reasons, and one file to change them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from necroscope.errors import ConfigError
from necroscope.store.config import read_config


@dataclass(frozen=True, slots=True)
class Threshold:
    """One number and why it is what it is."""

    name: str  # detector.threshold
    value: float
    unit: str
    why: str


Thresholds = Mapping[str, float]


@cache
def default_thresholds() -> dict[str, Threshold]:
    """All thresholds as they are shipped."""
    tables = tomllib.loads(files("necroscope.signals").joinpath("rules/thresholds.toml").read_text())
    return {
        f"{detector}.{name}": Threshold(f"{detector}.{name}", row["value"], row["unit"], row["why"])
        for detector, rows in tables.items()
        for name, row in rows.items()
    }


def load_thresholds(config: Path | None) -> Thresholds:
    """The thresholds in force: the defaults, changed by `[thresholds.DETECTOR]` of a file.

    Without a file named, /etc/necroscope/config.toml is used if it exists.
    """
    values = {name: threshold.value for name, threshold in default_thresholds().items()}
    path, document = read_config(config)
    for detector, rows in document.get("thresholds", {}).items():
        for name, value in (rows if isinstance(rows, dict) else {"": rows}).items():
            full = f"{detector}.{name}"
            if full not in values:
                raise ConfigError(
                    f"{path}: there is no threshold '{full.rstrip('.')}'",
                    hint="necroscope list thresholds prints all of them",
                )
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise ConfigError(f"{path}: {full} = {value!r} is not a number of 0 or more")
            values[full] = float(value)
    return values
