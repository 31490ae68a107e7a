"""What a node cannot do without (rules/vital.toml), and what a stop would take from it."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources

from necroscope.errors import CannotLookError, RefusedError
from necroscope.findings.agent_programs import find_programs
from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.systemd.stop_effects import StopEffects, read_stop_effects
from necroscope.sources.systemd.unit_activity import read_activity, read_unit_programs
from necroscope.sources.systemd.unit_files import UnitFile, read_unit_files
from necroscope.sources.systemd.unit_generators import NETWORK
from necroscope.sources.systemd.unit_names import parse_unit_name

# Mounted for a while by somebody, or from elsewhere: a node does without.
GUEST_MOUNTS = ("media-*.mount", "mnt*.mount", "run-media-*.mount")
GUEST_TYPES = ("_netdev", "9p", "virtiofs", "fuse.*", "iso9660", "autofs")
MOUNTED = "it is mounted, and what lies on it is gone for all that use it"


@dataclass(frozen=True, slots=True)
class VitalRule:
    """One thing that a node cannot do without."""

    id: str
    why: str  # what is lost without it
    units: tuple[str, ...]  # globs
    programs: tuple[str, ...]  # globs of the file's name; a unit of any name that runs one is vital


@cache
def vital_rules() -> tuple[VitalRule, ...]:
    """All rules, in the order of the file."""
    text = resources.files("necroscope.remedies").joinpath("rules/vital.toml").read_text()
    return tuple(
        VitalRule(id, row["why"], tuple(row["units"]), tuple(row.get("programs", ())))
        for id, row in tomllib.loads(text).items()
    )


def vital_reason(names: Collection[str], commands: Sequence[str]) -> str:
    """Why a unit of these names that runs these commands is vital; empty where it is not."""
    ran = find_programs(commands).programs if commands else ()
    programs = [program.rpartition("/")[2] for program in ran]
    for rule in vital_rules():
        if _fits(names, rule.units):
            return rule.why
        if running := next((program for program in programs if _fits((program,), rule.programs)), ""):
            return f"it runs {running}: {rule.why}"
    return ""


def vital_reasons(host: Host, units: Collection[str]) -> tuple[str, ...]:
    """One sentence for each of these units that a node cannot do without."""
    files = read_unit_files(host, of_next_boot=not host.is_live).value or ()
    by_name = {file.name: file for file in files}
    running = _running(host, units)
    found = []
    for name in dict.fromkeys(units):
        file = by_name.get(name) or by_name.get(_template(name))
        commands = file.settings.get("Service.ExecStart", ()) if file else ()
        names = (name, *_aliases(name, file, by_name.values()))
        if reason := vital_reason(names, (*commands, *running.get(name, ()))):
            found.append(f"{name}: {reason}")
    return tuple(found)


def _running(host: Host, units: Collection[str]) -> Mapping[str, Sequence[str]]:
    """What runs in those that are on: a script may start anything."""
    if not host.is_live:
        return {}
    activity = read_activity(host).value or {}
    reading = read_unit_programs(host, [name for name in units if name in activity])
    if reading.value is None and reading.absence is not Absence.NOT_SUPPORTED:
        raise CannotLookError(f"what the units run is not known: {reading.reason}", hint="run as root")
    return reading.value or {}


def _template(name: str) -> str:
    parts = parse_unit_name(name)
    return parts.template if parts else ""


def _aliases(name: str, file: UnitFile | None, others: Iterable[UnitFile]) -> list[str]:
    """The other names of its file. A name that is an alias has that of the unit behind it, too."""
    if file is None:
        return []
    return [other.name for other in others if other.path == file.path and other.name != name]


def _fits(names: Collection[str], globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for name in names for glob in globs)


def foresee_stop(host: Host, names: tuple[str, ...]) -> StopEffects:
    """What a stop of these would set off; in an image, nothing. RefusedError where systemd refuses it."""
    if not host.is_live:
        return StopEffects()
    reading = read_stop_effects(host, names)
    if reading.value is None:
        raise CannotLookError(f"what a stop sets off is not known: {reading.reason}", hint="run as root")
    if reading.value.refusing:
        what = f"{', '.join(reading.value.refusing)}: systemd refuses to stop it (RefuseManualStop=)"
        raise RefusedError(what, hint="stop what it is part of; nothing was changed")
    return reading.value


def stop_warnings(unit: str, effects: StopEffects) -> Iterator[str]:
    """What else happens, in sentences."""
    for name in effects.along:
        yield f"{name} is stopped along with {unit}"
    for name, why in effects.lost.items():
        yield f"{name} cannot be started again by an undo: {why}"
    for name, key in effects.started.items():
        when = "once it has stopped" if key.startswith("OnSuccess") else "if its stop fails"
        yield f"{name} is started {when} ({key}); an undo stops it"
    for name in effects.run_again:
        if name not in effects.lost:
            yield f"{name} has run and ended: an undo runs it again"
    for name, type in effects.mounts.items():
        if type in ("tmpfs", "ramfs"):
            yield f"{name} is a {type}: what lies in it is gone, and an undo does not bring it back"


def vital_effects(effects: StopEffects) -> Iterator[str]:
    """What a node cannot do without, or would not survive."""
    for name, action in effects.acting.items():
        yield f"{name}: its {action} would act on the whole machine"
    for name, type in effects.mounts.items():
        is_guest = any(fnmatchcase(name, glob) for glob in GUEST_MOUNTS)
        is_guest |= any(fnmatchcase(type, glob) for glob in GUEST_TYPES) or bool(NETWORK.fullmatch(type))
        if not is_guest:
            yield f"{name}: {MOUNTED}"
