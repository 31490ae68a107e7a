"""The unit that a remedy is for, found by any name that people use for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from necroscope.errors import CannotLookError, UsageError
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_activity import UnitActivity, read_activity
from necroscope.sources.systemd.unit_files import UnitFile, read_unit_files
from necroscope.sources.systemd.unit_names import UnitName, parse_unit_name
from necroscope.sources.units import UNITS

# Others belong to the kernel (device) or hold units of any kind (slice).
KINDS = ("service", "socket", "timer", "path", "mount", "automount", "swap", "target", "scope")
MOST_NEAR = 4


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
