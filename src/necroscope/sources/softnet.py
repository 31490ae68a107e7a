"""Packets taken from the network backlog of every core.

Reads    /proc/net/softnet_stat
Needs    nothing
Costs    one read: 0.05 ms

Hexadecimal, one line per online core; 11 columns up to Linux 5.4, 13 from 5.10 (the last is the
core's number), 15 from 6.5. `time_squeeze` says that a poll ended with work left, that is, much
traffic. It does not move when the core is kept from polling at all.

    0000042c 00000000 00000000 00000000 00000000 00000000 00000000 00000000 ... 00000001 (the core)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from necroscope.model.reading import Reading
from necroscope.sources.host import Host, only_line, parse_core_list, whole_lines
from necroscope.sources.source import Read, Source

ONLINE = "/sys/devices/system/cpu/online"


@dataclass(frozen=True, slots=True)
class CoreSoftnet:
    """Counts of one core since boot."""

    core: int
    processed: int
    dropped: int
    time_squeeze: int


Softnet = tuple[CoreSoftnet, ...]


def parse_softnet(online: tuple[int, ...], text: str) -> Softnet:
    """Parse softnet_stat; lines without a core number belong to the online cores in order."""
    rows = []
    for index, line in enumerate(whole_lines(text)):
        fields = [int(field, 16) for field in line.split()]
        if len(fields) < 11:
            raise ValueError(f"a line of {len(fields)} columns, not 11 or more")
        if len(fields) < 13 and index >= len(online):
            raise ValueError(f"a line without a core number, and {ONLINE} names {len(online)} cores")
        core = fields[12] if len(fields) > 12 else online[index]
        rows.append(CoreSoftnet(core, *fields[:3]))
    return tuple(rows)


def open_softnet(host: Host) -> Read[Softnet]:
    """A reader of the backlog counts of every online core."""

    def read() -> Reading[Softnet]:
        online = host.read(ONLINE).parsed(only_line).parsed(parse_core_list)
        return host.read("/proc/net/softnet_stat").parsed(partial(parse_softnet, online.value or ()))

    return read


SOFTNET = Source("softnet", open_softnet)
