"""When services were last started, and for how long they have held since.

Reads    two properties of each over D-Bus
Needs    systemd as the host's first process
Costs    two questions in one breath with all others, about 0.15 ms each
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from necroscope.model.reading import Reading
from necroscope.sources.ask_systemd import ask_systemd
from necroscope.sources.host import Host


@dataclass(frozen=True, slots=True)
class UnitTimes:
    """Of one unit."""

    has_begun: bool  # it was started at least once since boot
    seconds_active: float  # since it last became active


def read_unit_times(host: Host, names: Sequence[str]) -> Reading[Mapping[str, UnitTimes]]:
    """The times of these units, which must be loaded."""
    properties = ("InactiveExitTimestampMonotonic", "ActiveEnterTimestampMonotonic")
    wanted = [(object_path(name), "Unit", each) for name in names for each in properties]
    return ask_systemd(host, lambda bus: bus.properties(wanted)).parsed(lambda values: _times(names, values))


def _times(names: Sequence[str], values: Sequence[int | None]) -> dict[str, UnitTimes]:
    now_us = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6
    pairs = zip(names, values[::2], values[1::2], strict=True)
    return {
        name: UnitTimes(bool(begun), (now_us - (active or now_us)) / 1e6) for name, begun, active in pairs
    }


def object_path(name: str) -> str:
    """A unit's name as systemd writes it into a D-Bus path: all but letters and digits as _XX."""
    letters = [
        letter
        if letter.isascii() and letter.isalnum() and not (index == 0 and letter.isdigit())
        else f"_{ord(letter):02x}"
        for index, letter in enumerate(name)
    ]
    return f"/org/freedesktop/systemd1/unit/{''.join(letters)}"
