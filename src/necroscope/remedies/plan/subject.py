"""The unit that a remedy is for, found by any of its names, and what a plan for it relies on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from necroscope.errors import CannotLookError, UsageError
from necroscope.model.plan import Assumption
from necroscope.sources.host import Host, read_whole
from necroscope.sources.systemd.unit_activity import UnitActivity, read_activity
from necroscope.sources.systemd.unit_dependencies import TRIGGERS
from necroscope.sources.systemd.unit_files import Settings, UnitFile, read_unit_files
from necroscope.sources.systemd.unit_names import UnitName, parse_unit_name
from necroscope.sources.systemd.unit_settings import is_true
from necroscope.sources.systemd.unit_tree import MASK
from necroscope.sources.units import UNITS

# Others belong to the kernel (device) or hold units of any kind (slice).
KINDS = ("service", "socket", "timer", "path", "mount", "automount", "swap", "target", "scope")
MOST_NEAR = 4
# What systemd made of a unit's files, where that is not simply what they say.
ODD_LOAD_STATES = ("masked", "error", "bad-setting", "not-found")


@dataclass(frozen=True, slots=True)
class SubjectUnit:
    """One unit, with what it is found among."""

    name: str  # its own, whatever it was asked for by
    names: tuple[str, ...]  # its own and its aliases
    file: UnitFile | None  # None: systemd alone knows it
    files: Mapping[str, UnitFile]  # of all units, by name
    activity: Mapping[str, UnitActivity]  # of all loaded units; of an image nothing

    @property
    def state(self) -> str:
        """In the words of `systemctl is-enabled`."""
        return self.file.state if self.file else "transient"

    @property
    def is_on(self) -> bool:
        """Whether it runs, or is about to."""
        return self.name in self.activity and self.activity[self.name].is_on


def find_unit(host: Host, subject: str) -> SubjectUnit:
    """The unit of that name. Raises UsageError with near names where there is none."""
    files = _read_files(host)
    activity = _read_activity(host)
    asked = subject if parse_unit_name(subject) else f"{subject}.service"
    parts = parse_unit_name(asked)
    if parts is None or parts.type not in KINDS:
        kinds = ", ".join(KINDS)
        raise UsageError(f"{subject or 'nothing'} is not a unit that can be fixed", hint=f"one of: {kinds}")
    if parts.is_template:
        raise _template(parts, files, activity)
    file = _file(parts, files)
    if file is None and asked not in activity:
        raise UsageError(f"there is no unit {asked}", hint=_near(asked, files))
    if file is not None and file.state == "alias":
        file = _file(_behind(parts, file.path), files)
    name = file.name if file else asked
    aliases = (one.name for one in files.values() if file and one.state == "alias" and one.path == file.path)
    names = tuple(dict.fromkeys((name, *(() if parts.is_instance else sorted(aliases)))))
    return SubjectUnit(name, names, file, files, activity)


def _read_files(host: Host) -> dict[str, UnitFile]:
    reading = read_unit_files(host, of_next_boot=not host.is_live)
    if reading.value is None:
        raise CannotLookError(f"no unit files: {reading.reason}", hint="--root names a whole system")
    return {file.name: file for file in reading.value}


def _read_activity(host: Host) -> Mapping[str, UnitActivity]:
    if not host.is_live:
        return {}
    reading = read_activity(host)
    if reading.value is None:
        hint = UNITS.hint(reading.absence) if reading.absence else ""
        raise CannotLookError(f"systemd does not answer: {reading.reason}", hint=hint)
    return reading.value


def _file(parts: UnitName, files: Mapping[str, UnitFile]) -> UnitFile | None:
    """Its file; of an instance that nobody has enabled, its template's."""
    if found := files.get(str(parts)):
        return found
    template = files.get(parts.template) if parts.is_instance else None
    if template is None:
        return None
    state = template.state if template.state in ("static", "masked", "alias") else "disabled"
    return replace(template, name=str(parts), state=state, enabled_by=())


def _behind(parts: UnitName, path: str) -> UnitName:
    """The name that a file of a unit gives it: of an alias of a template, that of the same instance."""
    target = parse_unit_name(path.rpartition("/")[2]) or parts
    return replace(target, instance=parts.instance) if target.is_template else target


def _template(
    parts: UnitName, files: Mapping[str, UnitFile], activity: Mapping[str, UnitActivity]
) -> UsageError:
    instances = sorted(
        name
        for name in {*files, *activity}
        if (other := parse_unit_name(name)) and other.is_instance and other.template == str(parts)
    )
    hint = f"name one of: {', '.join(instances)}" if instances else "it has no instances here"
    return UsageError(f"{parts} is a template, of which nothing runs by itself", hint=hint)


def _near(asked: str, files: Mapping[str, UnitFile]) -> str:
    stem = asked.rpartition(".")[0]
    holding = sorted(name for name in files if len(stem) > 2 and stem in name)
    near = [*get_close_matches(asked, files, MOST_NEAR), *holding]
    return f"did you mean {', '.join(list(dict.fromkeys(near))[:MOST_NEAR])}?" if near else ""


def find_triggers(unit: SubjectUnit) -> tuple[str, ...]:
    """Sockets, timers, paths and automounts that start it on their event."""
    return tuple(
        sorted(
            name
            for name, file in unit.files.items()
            if may_run(unit, file) and _triggered_by(name, file.settings) in unit.names
        )
    )


def may_run(unit: SubjectUnit, file: UnitFile) -> bool:
    """Return whether another unit is on, or is started by anything but a person."""
    is_on = file.name in unit.activity and unit.activity[file.name].is_on
    return is_on or not file.state.startswith(("disabled", "masked", "alias", "bad"))


def _triggered_by(name: str, settings: Settings) -> str:
    parts = parse_unit_name(name)
    if parts is None or parts.type not in TRIGGERS:
        return ""
    key, triggered = TRIGGERS[parts.type]
    if named := settings.get(key, ()):
        return parts.expand(named[-1])
    if parts.type == "socket" and is_true(settings.get("Socket.Accept", ())):
        return ""  # every connection has an instance of its own
    return str(UnitName(parts.prefix, parts.instance, triggered))


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
