"""The environment of services.

Reads    Environment= and EnvironmentFile= of every service's unit file, and the files that these name
Needs    the right to read these files, which often only root has
Costs    one small read per file: 0.6 ms with 17 services

Files that are there to hold secrets are never opened; see `redaction`.
"""

from __future__ import annotations

from necroscope.inventory.redaction.redact import read_openly
from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Reading
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_environment import read_variables
from necroscope.sources.systemd.unit_files import UnitFile


def read_environment(subject: Subject) -> Reading[Facts]:
    """SERVICE/VARIABLE = value, of every service that has any."""
    if subject.unit_files.value is None:
        return subject.unit_files.without_value()
    gathered = Gathered()
    for unit in subject.lasting_units:
        if unit.name.endswith(".service"):
            for name, value in environment_of(subject.host, unit, gathered).items():
                gathered.add(f"{unit.name}/{name}", value)
    return gathered.reading()


def environment_of(host: Host, unit: UnitFile, gathered: Gathered) -> dict[str, str]:
    """The variables of one service, of files that are not there to hold secrets."""
    variables, unread = read_variables(host, unit.settings, read_openly)
    for reading in unread.values():
        gathered.miss(reading)
    return variables
