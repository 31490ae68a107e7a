"""The host that a snapshot is taken of, and what several sections want from it, read once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property

from necroscope.inventory.sections.daemons import read_daemons
from necroscope.inventory.sections.unit_runs import Demand, read_demand
from necroscope.inventory.sections.unit_times import UnitTimes, read_unit_times
from necroscope.model.labels import Labels
from necroscope.model.reading import Absence, Reading
from necroscope.sources.ask_systemd import ask_systemd
from necroscope.sources.host import Host
from necroscope.sources.instance import open_instance
from necroscope.sources.systemd.unit_details import UnitDetail, read_unit_details
from necroscope.sources.systemd.unit_files import UnitFile, read_unit_files

MADE = ("transient", "generated", "alias", "bad")
GENERATED = tuple(f"/run/systemd/generator{kind}" for kind in ("", ".early", ".late"))
MOST_READS = 3


class Subject:
    """One host, for the time of one snapshot."""

    def __init__(self, host: Host, given_labels: Mapping[str, str] | None = None) -> None:
        self.host = host
        self.given_labels = given_labels or {}

    @cached_property
    def instance(self) -> Reading[Labels]:
        """What the host is called; its cloud and its cluster are asked once."""
        return open_instance(self.host)()

    @cached_property
    def shares_network(self) -> bool:
        """Whether the kernel, when we ask, answers for the network of this host and not for ours."""
        return self._shares("net")

    @cached_property
    def shares_ipc(self) -> bool:
        """The same for shared memory, semaphores and message queues."""
        return self._shares("ipc")

    def _shares(self, namespace: str) -> bool:
        # In a recorded tree the files are what they are.
        if self.host.is_own or not self.host.is_live:
            return True
        try:
            theirs = self.host.path("/proc/1").joinpath("ns", namespace).stat()
            return theirs.st_ino == Host().path(f"/proc/self/ns/{namespace}").stat().st_ino
        except OSError:
            return False

    @cached_property
    def unit_files(self) -> Reading[tuple[UnitFile, ...]]:
        """All units on disk, none of them from the middle of a daemon-reload."""
        for _ in range(MOST_READS):
            before = self._generated_at()
            units = read_unit_files(self.host)
            self._wait_for_systemd()
            if self._generated_at() == before:
                break
        return units

    def _generated_at(self) -> list[tuple[int, int]]:
        """Changes whenever generators run: systemd removes and makes what they write anew."""
        stamps = []
        for name in GENERATED:
            with suppress(OSError):
                status = self.host.path(name).stat()
                stamps.append((status.st_ino, status.st_mtime_ns))
        return stamps

    def _wait_for_systemd(self) -> None:
        """Until it answers, which it does not while it reloads."""
        if not self.host.is_live:
            return
        ask_systemd(
            self.host, lambda bus: bus.properties([("/org/freedesktop/systemd1", "Manager", "Version")])
        )

    @cached_property
    def lasting_units(self) -> tuple[UnitFile, ...]:
        """Units on disk, each once, without those that something makes at run time."""
        return tuple(
            unit
            for unit in self.unit_files.value or ()
            if unit.state not in MADE and not unit.path.startswith("/run/systemd/transient")
        )

    @cached_property
    def demand(self) -> Mapping[str, Demand]:
        """Of every unit on disk, whether something starts it again and again."""
        details = (self.unit_details.value or {}).values()
        is_active = {detail.name for detail in details if detail.active_state not in ("inactive", "failed")}
        return read_demand(self.unit_files.value or (), is_active)

    @property
    def why_nothing(self) -> str:
        """Why it says nothing that no configuration is there; empty where this is a whole system."""
        return self.unit_files.reason

    @cached_property
    def unit_details(self) -> Reading[Mapping[str, UnitDetail]]:
        """All loaded units as the running systemd has them."""
        if not self.host.is_live:
            return Reading(absence=Absence.NOT_SUPPORTED, detail="not running")
        details = read_unit_details(self.host)
        if details.value is None:
            return details.without_value()
        return Reading({detail.name: detail for detail in details.value})

    @cached_property
    def times(self) -> Mapping[str, UnitTimes]:
        """When services began and became active, of those for which it matters."""
        wanted = [
            detail.name
            for detail in (self.unit_details.value or {}).values()
            if detail.type == "oneshot" or detail.restarts
        ]
        return read_unit_times(self.host, wanted).value or {} if wanted else {}

    @cached_property
    def daemons(self) -> Reading[frozenset[str]]:
        """The daemons of the host that move its clock or its interrupts."""
        return read_daemons(self.host)
