"""Which unit of this machine's systemd a process or a control group belongs to.

Reads    /proc/PID/cgroup; that of process 1 for the place of systemd itself
Needs    nothing
Costs    about 15 us per process
"""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.sources.host import Host, whole_lines

OF_SYSTEMD = ("", "name=systemd")  # the hierarchies that it keeps units in
KINDS = (".service", ".scope", ".socket", ".mount", ".swap")


def unit_in_path(path: str, top: str = "") -> str:
    """Return the unit that a control group belongs to, for the systemd below `top`; empty if there is none.

    What follows the unit belongs to others: a user or a container can call a group kubelet.service, too.
    """
    inner = path.removeprefix(top) if path.startswith(f"{top}/") else path
    parts = (part for part in inner.split("/") if part not in ("", "..") and not part.endswith(".slice"))
    first = next(parts, "")
    return first if first.endswith(KINDS) else ""


def parse_unit(text: str, top: str = "") -> str:
    """Return the unit in a /proc/PID/cgroup file, as `unit_in_path` does."""
    return next(filter(None, (unit_in_path(path, top) for path in _places(text))), "")


def find_top(host: Host) -> str:
    """Where systemd is among the control groups: at the top, if it is not seen from outside a container."""
    places = host.read("/proc/1/cgroup").parsed(lambda text: tuple(_places(text))).value or ()
    return next((place.removesuffix("/init.scope") for place in places if place.endswith("/init.scope")), "")


def unit_of(host: Host, pid: int, top: str) -> str:
    """Return the unit that a process is in; empty where unknown."""
    return (
        host.read(f"/proc/{pid}/cgroup", errors="replace").parsed(lambda text: parse_unit(text, top)).value
        or ""
    )


def _places(text: str) -> Iterator[str]:
    for line in whole_lines(text):
        _, controllers, path = line.split(":", 2)
        if controllers in OF_SYSTEMD:
            yield path
