"""The one configuration file: which tables it may have, and what each but `[thresholds]` sets."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from necroscope.errors import ConfigError
from necroscope.model.quantities import parse_address, parse_duration, parse_size
from necroscope.sources.host import read_whole
from necroscope.store.retention import Budget

DEFAULT_CONFIG = Path("/etc/necroscope/config.toml")
TABLES = ("thresholds", "record", "fleet", "kubernetes", "kernel_log")
FASTEST_RATE = 10_000
SHORTEST_EVERY, LONGEST_EVERY = 5.0, 86400.0
SMALLEST_SPOOL = 1 << 20
PROFILES = ("events", "never", "all")  # of which time samples are sent
SHORTEST_SEGMENT, LONGEST_SEGMENT = 2.0, 3600.0


@dataclass(frozen=True, slots=True)
class RecordSettings:
    """How to record."""

    segment_seconds: float = 120.0
    rate: int = 97  # samples a second and core; 0: none
    budget: Budget = field(default_factory=Budget)
    listen: str = ""  # HOST:PORT for Prometheus; empty: nobody listens
    textfile: str = ""  # FILE.prom for node_exporter; empty: none is written
    per_core_metrics: bool = False
    trust_kmsg: bool = False  # of [kernel_log]: lines that programs wrote to it count as the kernel's own


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """What this host sends to the fleet's place, and how it is called there."""

    place: str = ""  # empty: nothing is sent
    name: str = ""  # empty: the name of the host
    every_seconds: float = 300.0
    profiles: str = "events"
    counters: bool = False
    spool_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True)
class KubernetesSettings:
    """How the cluster is told what is wrong with this node."""

    report: bool = False
    address: str = ""  # of the API server; empty: as a pod is told of it
    token_file: str = ""  # the same
    ca_file: str = ""
    node: str = ""  # the name of this node; empty: NODE_NAME
    every_seconds: float = 300.0


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
    values = _values(config, "record", SETTINGS, said)
    default = RecordSettings()
    total = values.get("budget", default.budget.total_bytes)
    age = values.get("age", default.budget.age_seconds)
    return RecordSettings(
        segment_seconds=values.get("segment", default.segment_seconds),
        rate=values.get("rate", default.rate),
        budget=Budget(total, values.get("kept_budget", total // 4), age),
        listen=values.get("listen", default.listen),
        textfile=values.get("textfile", default.textfile),
        per_core_metrics=values.get("per_core_metrics", default.per_core_metrics),
        trust_kmsg=load_trust_kmsg(config, said.get("trust_kmsg")),
    )


def load_trust_kmsg(config: Path | None, said: bool | None = None) -> bool:
    """Whether lines that programs wrote to the kernel log count: as the command line said, else the file."""
    values = _values(config, "kernel_log", KERNEL_LOG_SETTINGS, {"trust_kmsg": said})
    return bool(values.get("trust_kmsg", False))


def load_fleet_settings(config: Path | None, said: Mapping[str, Any]) -> FleetSettings:
    """The same for `[fleet]`."""
    values = _values(config, "fleet", FLEET_SETTINGS, said)
    default = FleetSettings()
    return FleetSettings(
        place=values.get("place", default.place),
        name=values.get("name", default.name),
        every_seconds=values.get("every", default.every_seconds),
        profiles=values.get("profiles", default.profiles),
        counters=values.get("counters", default.counters),
        spool_bytes=values.get("spool", default.spool_bytes),
    )


def load_kubernetes_settings(config: Path | None, said: Mapping[str, Any]) -> KubernetesSettings:
    """The same for `[kubernetes]`."""
    values = _values(config, "kubernetes", KUBERNETES_SETTINGS, said)
    every = values.pop("every", KubernetesSettings().every_seconds)
    return KubernetesSettings(every_seconds=every, **values)


def _values(
    config: Path | None, table: str, known: Mapping[str, Callable[[str], Any]], said: Mapping[str, Any]
) -> dict[str, Any]:
    path, document = read_config(config)
    values: dict[str, Any] = {}
    for name, value in document.get(table, {}).items():
        if name not in known:
            hint = f"known: {', '.join(known)}"
            raise ConfigError(f"{path}: there is no setting '{table}.{name}'", hint=hint)
        try:
            values[name] = known[name](str(value))
        except ValueError as error:
            raise ConfigError(f"{path}: {table}.{name}: {error}") from error
    return values | {name: value for name, value in said.items() if value is not None}


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


def parse_textfile(text: str) -> str:
    """A file that node_exporter's textfile collector reads: it looks at no other name."""
    if not text.endswith(".prom") or text.endswith("/.prom") or text == ".prom":
        raise ValueError(f"'{text}' does not end in .prom, and node_exporter would not read it")
    return text


def parse_every(text: str) -> float:
    """The time between two runs of shipping, or of reporting."""
    seconds = parse_duration(text)
    if not SHORTEST_EVERY <= seconds <= LONGEST_EVERY:
        raise ValueError(f"'{text}' is not between {SHORTEST_EVERY:g}s and {LONGEST_EVERY:g}s")
    return seconds


def parse_profiles(text: str) -> str:
    """Which whole segments are sent."""
    if text not in PROFILES:
        raise ValueError(f"'{text}' is not one of {', '.join(PROFILES)}")
    return text


def parse_spool(text: str) -> int:
    """The size of the spool."""
    size = parse_size(text)
    if size < SMALLEST_SPOOL:
        raise ValueError(f"'{text}' is less than 1MiB")
    return size


def parse_switch(text: str) -> bool:
    """A TOML boolean, as it is written."""
    if text not in ("True", "False"):
        raise ValueError(f"'{text}' is neither true nor false")
    return text == "True"


def parse_place(text: str) -> str:
    """Where something is. What it means is found out by whoever uses it."""
    if not text.strip():
        raise ValueError("it is empty")
    return text


FLEET_SETTINGS: dict[str, Callable[[str], Any]] = {
    "place": parse_place,
    "name": parse_place,
    "every": parse_every,
    "profiles": parse_profiles,
    "counters": parse_switch,
    "spool": parse_spool,
}
KUBERNETES_SETTINGS: dict[str, Callable[[str], Any]] = {
    "report": parse_switch,
    "address": parse_place,
    "token_file": parse_place,
    "ca_file": parse_place,
    "node": parse_place,
    "every": parse_every,
}
KERNEL_LOG_SETTINGS: dict[str, Callable[[str], Any]] = {"trust_kmsg": parse_switch}
SETTINGS: dict[str, Callable[[str], Any]] = {
    "segment": parse_segment,
    "rate": parse_rate,
    "budget": parse_size,
    "kept_budget": parse_size,
    "age": parse_duration,
    "listen": parse_listen,
    "textfile": parse_textfile,
    "per_core_metrics": parse_switch,
}
