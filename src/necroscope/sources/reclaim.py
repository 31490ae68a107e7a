"""Work the kernel did to get memory back.

Reads    /proc/vmstat, /proc/meminfo
Needs    nothing
Costs    two reads: 0.2 ms

    allocstall_normal 0
    pgscan_kswapd 163840
    pgscan_direct 0
    oom_kill 0
"""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.reading import Reading
from necroscope.sources.host import Host, whole_lines
from necroscope.sources.source import Read, Source

ZONES = ("dma", "dma32", "normal", "high", "movable", "device")


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Counts since boot, in pages, and what is left."""

    scanned_by_kswapd: int
    scanned_directly: int  # by the tasks that wanted memory, which wait for it meanwhile
    stolen_by_kswapd: int
    stolen_directly: int
    allocation_stalls: int
    oom_kills: int | None  # since Linux 4.13
    available_bytes: int
    total_bytes: int
    compaction_stalls: int | None = None  # tasks that made room for a large page; CONFIG_COMPACTION


def parse_vmstat(text: str) -> dict[str, int]:
    """Parse /proc/vmstat into its counters."""
    return {name: int(value) for name, value in (line.split() for line in whole_lines(text))}


def parse_meminfo(text: str) -> dict[str, int]:
    """Parse /proc/meminfo into bytes by field."""
    fields = {}
    for line in whole_lines(text):
        name, _, rest = line.partition(":")
        value, *unit = rest.split()
        fields[name] = int(value) * (1024 if unit == ["kB"] else 1)
    return fields


def sum_zones(vmstat: dict[str, int], name: str) -> int:
    """A counter that is kept per zone or as one: pgscan and pgsteal as one since Linux 4.8, allocstall
    per zone since 4.10.
    """
    counts = [vmstat[key] for key in (name, *(f"{name}_{zone}" for zone in ZONES)) if key in vmstat]
    if not counts:
        raise KeyError(name)
    return sum(counts)


def open_reclaim(host: Host) -> Read[Reclaim]:
    """A reader of the reclaim counters."""

    def read() -> Reading[Reclaim]:
        meminfo = host.read("/proc/meminfo").parsed(parse_meminfo)
        memory = meminfo.parsed(lambda fields: (fields["MemAvailable"], fields["MemTotal"]))
        if memory.value is None:
            return memory.without_value()
        available, total = memory.value

        def join(vmstat: dict[str, int]) -> Reclaim:
            return Reclaim(
                scanned_by_kswapd=sum_zones(vmstat, "pgscan_kswapd"),
                scanned_directly=sum_zones(vmstat, "pgscan_direct"),
                stolen_by_kswapd=sum_zones(vmstat, "pgsteal_kswapd"),
                stolen_directly=sum_zones(vmstat, "pgsteal_direct"),
                allocation_stalls=sum_zones(vmstat, "allocstall"),
                oom_kills=vmstat.get("oom_kill"),
                available_bytes=available,
                total_bytes=total,
                compaction_stalls=vmstat.get("compact_stall"),
            )

        return host.read("/proc/vmstat").parsed(parse_vmstat).parsed(join)

    return read


RECLAIM = Source("reclaim", open_reclaim)
