"""Which unit each process is of, and which sockets it holds.

Reads    /proc/PID/cgroup of all processes; /proc/PID/fd, ns/net and comm of those that are asked for
Needs    CAP_SYS_PTRACE for other users' processes
Costs    about 40 us per process and 6 us per open file of those that are looked at (measured with 600
         processes and 50,000 files)
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing
from necroscope.sources.process_units import find_top, unit_of

GONE = (FileNotFoundError, ProcessLookupError)
# Any user can have a thousand processes with a million open files each.
MAX_SECONDS = 10.0  # for all processes
MAX_PROCESS_SECONDS = 1.0  # for one: more than 100,000 files


def read_process_units(host: Host) -> Reading[dict[int, str]]:
    """The system's unit of every process; empty where it is of none."""
    names = host.names("/proc")
    if names.value is None:
        return names.without_value()
    top = find_top(host)
    units = {int(name): unit_of(host, int(name), top) for name in names.value if name.isdecimal()}
    if not units:
        return Reading(absence=Absence.NOT_SUPPORTED, detail="no process is visible in /proc")
    if not host.shows_all_processes():
        return Reading(absence=Absence.NOT_PERMITTED, detail="/proc hides other users' processes")
    return Reading(units)


def read_network_namespace(host: Host, pid: int) -> Reading[str]:
    """net:[4026531840]: the same for all that share interfaces and sockets; empty where it has gone."""
    name = f"/proc/{pid}/ns"
    try:
        return Reading(os.readlink(f"{host.path(name)}/net"))  # noqa: PTH115 - not to be followed
    except GONE:
        return Reading("")
    except OSError as error:
        return missing(name, error)


def read_socket_inodes(host: Host, pid: int, until: float) -> Reading[frozenset[int]]:
    """The sockets that a process has open; none where it has gone, an absence where the time is up."""
    name = f"/proc/{pid}/fd"
    try:
        folder = os.open(host.path(name), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except GONE:
        return Reading(frozenset())
    except OSError as error:
        return missing(name, error)
    try:
        return Reading(frozenset(_socket_inodes(folder, until)))
    except TimeoutError:
        return Reading(absence=Absence.BROKEN, detail=f"{name}: no time to look at all of its files")
    except GONE:
        return Reading(frozenset())
    except OSError as error:
        return missing(name, error)
    finally:
        os.close(folder)


def _socket_inodes(folder: int, until: float) -> Iterator[int]:
    for name in os.listdir(folder):
        if time.monotonic() > until:
            raise TimeoutError
        try:
            target = os.readlink(name, dir_fd=folder)  # a third cheaper than by its path
        except GONE:  # closed meanwhile
            continue
        kind, _, inode = target.partition("[")
        if kind == "socket:" and inode[:-1].isdecimal():
            yield int(inode[:-1])


class Holders:
    """Who holds which socket, as far as processes have been looked at."""

    def __init__(self, host: Host, unit_of: Mapping[int, str]) -> None:
        self._host = host
        self._unit_of = unit_of
        self._pids: defaultdict[int, set[int]] = defaultdict(set)  # by inode
        self._until = time.monotonic() + MAX_SECONDS

    def look_at(self, pids: Iterable[int]) -> dict[int, Reading[frozenset[int]]]:
        """Find all sockets of these processes; gives the processes that could not be looked at."""
        readings = {pid: self._look(pid) for pid in pids}
        return {pid: reading for pid, reading in readings.items() if reading.absence}

    def look_for(self, inodes: Iterable[int], pids: Iterable[int]) -> bool:
        """Look at as many processes as it takes to find these sockets.

        Says whether one was not found, and may be held by a process that could not be looked at.
        """
        sought = {inode for inode in inodes if inode not in self._pids}
        was_refused = False
        for pid in pids:
            if not sought:
                break
            reading = self._look(pid)
            was_refused |= reading.absence is not None
            sought -= reading.value or frozenset()
        return bool(sought) and was_refused

    def _look(self, pid: int) -> Reading[frozenset[int]]:
        until = min(self._until, time.monotonic() + MAX_PROCESS_SECONDS)
        reading = read_socket_inodes(self._host, pid, until)
        for inode in reading.value or ():
            self._pids[inode].add(pid)
        return reading

    def units(self, inodes: Iterable[int]) -> set[str]:
        """The units that hold one of these sockets."""
        return {self._unit_of[pid] for pid in self._holders(inodes)} - {""}

    def names(self, inodes: Iterable[int]) -> set[str]:
        """What to call the holders: a service by its name, others by their program."""
        pids = self._holders(inodes)
        services = {unit for pid in pids if (unit := self._unit_of[pid]).endswith(".service")}
        # systemd keeps the sockets of the services that it starts on demand.
        return services or {self._program(pid) for pid in pids}

    def _holders(self, inodes: Iterable[int]) -> set[int]:
        return {pid for inode in inodes for pid in self._pids.get(inode, ())}

    def _program(self, pid: int) -> str:
        return (
            self._host.read(f"/proc/{pid}/comm", errors="replace").value or ""
        ).strip() or f"process {pid}"
