"""Services of systemd: state, restarts, and where each came from.

Reads    org.freedesktop.systemd1 over D-Bus: the system bus, else /run/systemd/private
Needs    systemd 230 or newer (235 for restart counts) as the host's first process
Costs    about 0.3 ms per service that is not simply inactive; read at the beginning and the end of a look

`NRestarts` counts automatic restarts since the unit was last started by hand; `reset-failed` sets it
back to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from necroscope.sources.ask_systemd import ask_systemd
from necroscope.sources.host import Host
from necroscope.sources.source import Read, Source

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

PROPERTIES = (
    ("Service", "NRestarts"),
    ("Service", "Result"),
    ("Service", "Restart"),
    ("Service", "RestartUSec"),
    ("Unit", "StateChangeTimestampMonotonic"),
    ("Service", "ExecMainStatus"),
    ("Unit", "UnitFileState"),
    ("Unit", "UnitFilePreset"),
    ("Unit", "FragmentPath"),
)


@dataclass(frozen=True, slots=True)
class Unit:
    """One loaded service."""

    name: str
    description: str
    active_state: str
    sub_state: str
    restarts: int | None  # None: this systemd does not count them
    result: str
    restart_policy: str
    restart_delay_seconds: float
    state_changed_ns: int  # CLOCK_MONOTONIC; when it last started, stopped or failed
    exit_status: int
    enabled: str
    preset: str
    file: str


Units = tuple[Unit, ...]


def open_units(host: Host) -> Read[Units]:
    """A reader of all loaded services that are running, starting or failed."""

    return lambda: ask_systemd(host, _read_units)


def _read_units(bus: SystemdBus) -> Units:
    (listed,) = bus.call("ListUnitsByPatterns", "asas", ([], ["*.service"]))
    rows = [row for row in listed if row[2] == "loaded" and row[3] != "inactive"]
    wanted = [(row[6], interface, name) for row in rows for interface, name in PROPERTIES]
    values = iter(bus.properties(wanted))
    return tuple(_unit(row, *(next(values) for _ in PROPERTIES)) for row in rows)


def _unit(row: Any, restarts: int | None, result: str, *rest: Any) -> Unit:
    policy, delay_us, changed_us, status, enabled, preset, file = rest
    return Unit(
        name=row[0],
        description=row[1],
        active_state=row[3],
        sub_state=row[4],
        restarts=restarts,
        result=result or "",
        restart_policy=policy or "",
        restart_delay_seconds=(delay_us or 0) / 1e6,
        state_changed_ns=(changed_us or 0) * 1000,
        exit_status=status or 0,
        enabled=enabled or "",
        preset=preset or "",
        file=file or "",
    )


UNITS = Source(
    "units",
    open_units,
    pace_seconds=60,
    to_permit="run as root, or start the system bus (dbus); in a container, as a user that the host knows",
    to_support="a host run by systemd; in a container, mount the host's /run and use --root /host",
)
