"""Put a question to a host's systemd, and turn what may go wrong into an absence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

T = TypeVar("T")
BUS = "systemd over D-Bus"


def ask_systemd(host: Host, question: Callable[[SystemdBus], T]) -> Reading[T]:
    """What `question` makes of the answers."""
    # Imported here: the D-Bus library is a fifth of the start-up time of a command that needs none.
    from necroscope.sources.systemd_bus import NOBODY, SystemdBus

    try:
        bus = SystemdBus(host)
    except NOBODY:
        return Reading(absence=Absence.NOT_SUPPORTED, detail="no systemd answers on this host")
    except OSError as error:
        return missing(BUS, error)
    try:
        return Reading(question(bus))
    except OSError as error:
        return missing(BUS, error)
    finally:
        bus.close()
