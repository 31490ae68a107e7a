"""The one configuration file: which tables it may have, and what `[record]` sets."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from necroscope.errors import ConfigError
from necroscope.recording.quantities import parse_address, parse_duration, parse_size
from necroscope.recording.retention import Budget
from necroscope.sources.host import read_whole

DEFAULT_CONFIG = Path("/etc/necroscope/config.toml")
TABLES = ("thresholds", "record")
FASTEST_RATE = 10_000
SHORTEST_SEGMENT, LONGEST_SEGMENT = 2.0, 3600.0


@dataclass(frozen=True, slots=True)
class RecordSettings:
    """How to record."""

    segment_seconds: float = 120.0
    rate: int = 97  # samples a second and core; 0: none
    budget: Budget = field(default_factory=Budget)
    listen: str = ""  # HOST:PORT for Prometheus; empty: nobody listens


def read_config(config: Path | None) -> tuple[Path, dict[str, Any]]:
    """The file in force and its tables; without one named, /etc/necroscope/config.toml if it exists."""
    path = config or DEFAULT_CONFIG
    try:
        document = tomllib.loads(read_whole(path).decode())
    except FileNotFoundError as error:
        if config is None:
            return path, {}
        raise ConfigError(f"{path}: {error.strerror}", hint="--config names a TOML file") from error
    except OSError as error:
        hint = "make it readable, or use --config /dev/null for the defaults"
        raise ConfigError(f"{path}: {error.strerror}", hint=hint) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint="it must be a TOML file") from error
    for name, table in document.items():
        if name not in TABLES:
            known = ", ".join(f"[{table}]" for table in TABLES)
            raise ConfigError(f"{path}: unknown table '{name}'", hint=f"known are {known}")
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: {name} is not a table")
    return path, document


def load_record_settings(config: Path | None, said: Mapping[str, Any]) -> RecordSettings:
    """The settings in force: the defaults, changed by `[record]`, changed by what the command line said."""
    path, document = read_config(config)
    values: dict[str, Any] = {}
    for name, value in document.get("record", {}).items():
        if name not in SETTINGS:
            raise ConfigError(
                f"{path}: there is no setting 'record.{name}'", hint=f"known: {', '.join(SETTINGS)}"
            )
        try:
            values[name] = SETTINGS[name](str(value))
        except ValueError as error:
            raise ConfigError(f"{path}: record.{name}: {error}") from error
    values |= {name: value for name, value in said.items() if value is not None}
    default = RecordSettings()
    total = values.get("budget", default.budget.total_bytes)
    age = values.get("age", default.budget.age_seconds)
    return RecordSettings(
        segment_seconds=values.get("segment", default.segment_seconds),
        rate=values.get("rate", default.rate),
        budget=Budget(total, values.get("kept_budget", total // 4), age),
        listen=values.get("listen", default.listen),
    )


def parse_segment(text: str) -> float:
    """The length of a segment."""
    seconds = parse_duration(text)
    if not SHORTEST_SEGMENT <= seconds <= LONGEST_SEGMENT:
        raise ValueError(f"'{text}' is not between {SHORTEST_SEGMENT:g}s and {LONGEST_SEGMENT:g}s")
    return seconds


def parse_rate(text: str) -> int:
    """Samples a second."""
    if not text.isdecimal() or int(text) > FASTEST_RATE:
        raise ValueError(f"'{text}' is not a number of samples a second, from 0 (none) to {FASTEST_RATE}")
    return int(text)


def parse_listen(text: str) -> str:
    """An address to listen on, as it was written."""
    parse_address(text)
    return text


SETTINGS: dict[str, Callable[[str], Any]] = {
    "segment": parse_segment,
    "rate": parse_rate,
    "budget": parse_size,
    "kept_budget": parse_size,
    "age": parse_duration,
    "listen": parse_listen,
}
