"""Units: whether each is enabled and runs, who put it there, and what was changed about it.

Reads    unit files and drop-ins; the database of packages; the running systemd over D-Bus
Needs    the right to read unit files, which anybody has; a bus, or root
Costs    0.1 s for 230 unit files and their owners, and 3 ms per unit that systemd has loaded (measured)

Units that something makes at run time are left out: sessions, scopes, devices, mounts of containers.
"""

from __future__ import annotations

import hashlib

from necroscope.inventory.redaction.redact import read_openly, redact_text, redact_value
from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.origin import origin_of
from necroscope.inventory.sections.subject import Subject
from necroscope.inventory.sections.unit_runs import failed_condition, runs
from necroscope.model.reading import Reading
from necroscope.sources.host import Host
from necroscope.sources.packaging.packages import find_owners
from necroscope.sources.systemd.unit_files import UnitFile
from necroscope.sources.systemd.unit_settings import parse_unit_file, words_of

KINDS = (".service", ".socket", ".timer", ".path", ".mount", ".automount", ".swap", ".target")
LONGEST_TEXT = 1 << 17  # of a hostile tree: patterns take time
NEEDS = ("Unit.Requires", "Unit.Requisite", "Unit.BindsTo")
ASKING = (
    "Service.EnvironmentFile",
    "Unit.ConditionPath",
    "Unit.ConditionFile",
    "Unit.AssertPath",
    "Unit.AssertFile",
)


RUNNING = ("Service.ExecStart", "Service.ExecStartPre", "Service.ExecCondition", "Service.WorkingDirectory")
PUT_THERE = ("/opt/", "/srv/", "/usr/local/", "/etc/", "/var/lib/")


def read_units(subject: Subject) -> Reading[Facts]:
    """NAME/enabled, preset, runs, file, origin, package, text, drop-ins, `drop-in PATH`, needs, asks-for."""
    files = subject.unit_files
    if files.value is None:
        return files.without_value()
    gathered = Gathered()
    gathered.say(files.detail)
    units = [unit for unit in subject.lasting_units if unit.name.endswith(KINDS)]
    owners = find_owners(subject.host, [unit.path for unit in units])
    gathered.miss(owners)
    details = subject.unit_details
    if details.value is None:
        gathered.say(f"whether they run: {details.detail or details.reason}")
    for unit in units:
        package = (owners.value or {}).get(unit.path, "")
        gathered.add(f"{unit.name}/enabled", unit.state)
        gathered.add_known(f"{unit.name}/preset", unit.preset)
        gathered.add(f"{unit.name}/file", unit.path)
        gathered.add(f"{unit.name}/origin", origin_of(unit.path, unit.state, package, owners).value)
        gathered.add_known(f"{unit.name}/package", package)
        gathered.add_known(f"{unit.name}/needs", " ".join(needs_of(unit)))
        gathered.add_known(f"{unit.name}/asks-for", " ".join(paths_of(unit)))
        if details.value is not None and "@." not in unit.name:
            detail, times = details.value.get(unit.name), subject.times.get(unit.name)
            demand, condition = subject.demand[unit.name], failed_condition(subject.host, unit)
            gathered.add(f"{unit.name}/runs", runs(unit, detail, times, demand, condition))
        _add_texts(subject.host, unit, gathered)
    return gathered.reading("no unit files")


def needs_of(unit: UnitFile) -> list[str]:
    """The units that it cannot do without."""
    return sorted({name for setting in NEEDS for name in words_of(unit.settings.get(setting, ()))})


def paths_of(unit: UnitFile) -> list[str]:
    """The files that have to be there for it: of its environment, conditions, assertions and programs.

    Of programs only those that somebody may have put there: that it needs /bin/sh says nothing about it.
    """
    asking = [name for name in unit.settings if name.startswith(ASKING)]
    paths = {value.lstrip("-|!") for name in asking for value in unit.settings[name]}
    commands = [redact_text(value) for name in RUNNING for value in unit.settings.get(name, ())]
    words = {word.lstrip("-@:+!\"'") for command in commands for word in command.split()}
    return sorted(
        {path for path in paths if path.startswith("/")}
        | {word for word in words if word.startswith(PUT_THERE)}
    )


def normal_text(text: str) -> str:
    """A unit file without comments, blanks and secrets; nothing of one that systemd refuses."""
    if len(text) > LONGEST_TEXT:
        return "(too large)"
    try:
        lines = parse_unit_file(text)
    except ValueError:
        return "(not a unit file)"
    return "\n".join(f"[{line.section}] {line.key}={redact_value(line.key, line.value)}" for line in lines)


def digest(text: str) -> str:
    """A short name for a text that secrets have been taken out of."""
    return f"sha256:{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:16]}"


def _add_texts(host: Host, unit: UnitFile, gathered: Gathered) -> None:
    if unit.state.startswith("masked"):
        return
    text = read_openly(host, unit.path)
    gathered.miss(text)
    if text.value is not None:
        gathered.add(f"{unit.name}/text", digest(normal_text(text.value)))
    gathered.add_known(f"{unit.name}/drop-ins", " ".join(unit.drop_ins))
    for path in unit.drop_ins:
        drop_in = read_openly(host, path)
        gathered.miss(drop_in)
        if drop_in.value is not None:
            gathered.add(f"{unit.name}/drop-in {path}", normal_text(drop_in.value))
