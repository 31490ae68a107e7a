"""What a plan for a unit relies on: its files, its links, who needs it, and whether it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from necroscope.errors import CannotLookError
from necroscope.model.plan import Assumption
from necroscope.remedies.plan.starters import find_triggers
from necroscope.remedies.plan.subject import SubjectUnit
from necroscope.sources.host import Host, read_whole
from necroscope.sources.systemd.unit_tree import MASK

# What systemd made of a unit's files, where that is not simply what they say.
ODD_LOAD_STATES = ("masked", "error", "bad-setting", "not-found")


def file_assumptions(host: Host, unit: SubjectUnit) -> Iterator[Assumption]:
    """The unit's own file and its drop-ins, each with what it says."""
    if unit.file is None:
        yield Assumption(f"{unit.name}: unit file", "none")
        return
    yield Assumption(f"{unit.name}: unit file", _fingerprint(host, unit.file.path))
    for path in unit.file.drop_ins:
        yield Assumption(f"{unit.name}: drop-in", _fingerprint(host, path))
    yield Assumption(f"{unit.name}: state", unit.state)


def unit_assumptions(host: Host, unit: SubjectUnit, links: Mapping[str, str]) -> Iterator[Assumption]:
    """All that disabling a unit relies on."""
    yield from file_assumptions(host, unit)
    shown = ", ".join(f"{path} -> {text}" for path, text in sorted(links.items()))
    yield Assumption(f"{unit.name}: links", shown or "none")
    needed_by = unit.file.needed_by if unit.file else ()
    yield Assumption(f"{unit.name}: needed by", ", ".join(needed_by) or "nobody")
    triggers = find_triggers(unit)
    yield Assumption(f"{unit.name}: triggered by", ", ".join(triggers) or "nobody")
    if host.is_live:
        load_state = unit.activity[unit.name].load_state if unit.name in unit.activity else ""
        odd = load_state if load_state in ODD_LOAD_STATES else "as its file says"
        yield Assumption(f"{unit.name}: loaded", odd)
        running = "whenever it is triggered" if triggers else "on" if unit.is_on else "off"
        yield Assumption(f"{unit.name}: runs", running)


def _fingerprint(host: Host, path: str) -> str:
    try:
        place = host.path(path)
        data = b"" if str(place).endswith(MASK) else read_whole(place)
    except OSError as error:
        hint = "run as root" if isinstance(error, PermissionError) else ""
        raise CannotLookError(f"{path}: {error.strerror or error}", hint=hint) from error
    return f"{path} sha256:{hashlib.sha256(data).hexdigest()}"
