"""Pressure stall information: time lost waiting for a resource, node-wide.

Reads    /proc/pressure/{cpu,io,memory,irq}
Needs    Linux 4.20 with CONFIG_PSI; some distributions need psi=1 on the kernel command line
Costs    one read per resource, about 20 us each

It cannot name a core: one starved core of 96 hardly moves it.

    some avg10=0.00 avg60=0.00 avg300=0.00 total=14
    full avg10=0.00 avg60=0.00 avg300=0.00 total=0
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from necroscope.model.reading import Reading
from necroscope.sources.host import Host, whole_lines
from necroscope.sources.source import Read, Source

# The lines that every kernel writes. cpu has `full` since Linux 5.13; irq never has `some`.
LINES = {"cpu": ("some",), "io": ("some", "full"), "memory": ("some", "full"), "irq": ("full",)}


@dataclass(frozen=True, slots=True)
class Stall:
    """Microseconds since boot that some, or all, tasks waited for a resource. None: no such line."""

    some_us: int | None
    full_us: int | None


@dataclass(frozen=True, slots=True)
class Pressure:
    """The stalls of every resource. Interrupts are counted from Linux 6.1."""

    cpu: Stall
    io: Stall
    memory: Stall
    irq: Stall | None


def parse_stall(resource: str, text: str) -> Stall:
    """Parse the pressure file of one resource."""
    totals = {}
    for line in whole_lines(text):
        kind, *fields = line.split()
        totals[kind] = int(dict(field.split("=") for field in fields)["total"])
    for line in LINES[resource]:
        if line not in totals:
            raise ValueError(f"no line of `{line}`")
    return Stall(totals.get("some"), totals.get("full"))


def open_pressure(host: Host) -> Read[Pressure]:
    """A reader of all resources' stall times."""

    def read() -> Reading[Pressure]:
        stalls = {}
        for resource in ("cpu", "io", "memory"):
            stall = _read_stall(host, resource)
            if stall.value is None:
                return stall.without_value()
            stalls[resource] = stall.value
        return Reading(Pressure(irq=_read_stall(host, "irq").value, **stalls))

    return read


def _read_stall(host: Host, resource: str) -> Reading[Stall]:
    return host.read(f"/proc/pressure/{resource}").parsed(partial(parse_stall, resource))


PRESSURE = Source(
    "pressure", open_pressure, to_support="Linux 4.20 with CONFIG_PSI, and psi=1 where it is off by default"
)
