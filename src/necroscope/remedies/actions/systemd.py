"""Ask a host's systemd, and have it start units and load its files again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, TypeVar

from necroscope.errors import ChangeError
from necroscope.sources.ask_systemd import BUS, ask_systemd
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_activity import UnitActivity, list_activity

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

T = TypeVar("T")

# A daemon-reload runs all generators, and a node with thousands of mounts takes seconds for it.
RELOAD_SECONDS = 120.0
POLL_SECONDS = 0.1


def ask(host: Host, question: Callable[[SystemdBus], T]) -> T:
    """What `question` makes of the answers; ChangeError where there are none."""
    return _over_bus(host, question, "systemd did not answer")


def order(host: Host, orders: Callable[[SystemdBus], T]) -> T:
    """Have systemd do something; ChangeError where it refuses, or does not answer."""
    return _over_bus(host, orders, "systemd did not do it")


def _over_bus(host: Host, talk: Callable[[SystemdBus], T], failed: str) -> T:
    def talk_to_its_own(bus: SystemdBus) -> T:
        bus.refuse_another_root(host)
        return talk(bus)

    reading = ask_systemd(host, talk_to_its_own)
    if reading.absence is not None:
        why = reading.detail.removeprefix(f"{BUS}: ") or reading.reason
        raise ChangeError(f"{failed}: {why}", hint="run as root on the host")
    return reading.value  # type: ignore[return-value] # None may be what it made


def reload_systemd(host: Host) -> None:
    """Have systemd read its unit files again; an image has none that runs."""
    if host.is_live:
        order(host, lambda bus: bus.call("Reload", "", (), RELOAD_SECONDS))


def read_units(host: Host) -> Mapping[str, UnitActivity]:
    """All loaded units as they are now."""
    return ask(host, list_activity)


def start_units(host: Host, names: Collection[str], most_seconds: float) -> None:
    """Start what is not on, and wait until systemd has done with it. How it went is for others to say."""

    def start(bus: SystemdBus) -> None:
        units = list_activity(bus)
        for name in names:
            if name not in units or not units[name].is_on:
                bus.call("StartUnit", "ss", (name, "replace"))

    order(host, start)
    wait_until(host, names, lambda unit: not unit.job, most_seconds)


def wait_until(
    host: Host, names: Collection[str], has_happened: Callable[[UnitActivity], bool], most_seconds: float
) -> bool:
    """Whether it has happened to all units in time. One that is no longer loaded is done with."""
    deadline = time.monotonic() + most_seconds
    while True:
        units = read_units(host)
        if all(has_happened(units[name]) for name in names if name in units):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
