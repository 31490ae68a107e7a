"""Kernel modules: their versions and parameters.

Reads    /sys/module
Needs    nothing; some parameters may only be read by root
Costs    one read per parameter: 280 of 78 modules take 10 ms

How often a module is used is left out. What is built in shows only if it has parameters or a version.
"""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase

from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.inventory.sections.volatile import rounded, volatile_rules
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host

PLACE = "/sys/module"
READABLE = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH


def read_modules(subject: Subject) -> Reading[Facts]:
    """NAME = version and source version, NAME/PARAMETER = value."""
    host = subject.host
    names = host.names(PLACE)
    if names.value is None:
        return names.without_value()
    gathered = Gathered()
    for name in names.value:
        version = host.word(f"{PLACE}/{name}/version")
        source = host.word(f"{PLACE}/{name}/srcversion")
        is_loaded = host.read(f"{PLACE}/{name}/initstate").absence is None
        words = [version, source and f"srcversion={source}", "" if is_loaded else "built in"]
        gathered.add(name, " ".join(filter(None, words)) or "loaded")
        for parameter in host.names(f"{PLACE}/{name}/parameters").value or ():
            _add_parameter(host, name, parameter, gathered)
    return gathered.reading(f"{PLACE} is empty")


def _add_parameter(host: Host, module: str, parameter: str, gathered: Gathered) -> None:
    name = f"{module}/{parameter}"
    rules = volatile_rules()["modules"]
    if any(fnmatchcase(name, pattern) for pattern in rules["left_out"]):
        return
    place = f"{PLACE}/{module}/parameters/{parameter}"
    try:
        if not os.stat(host.path(place)).st_mode & READABLE:  # noqa: PTH116
            return  # can be written only
    except OSError:
        return
    reading = host.read(place, errors="replace")
    if reading.value is not None:
        value = reading.value.strip("\0\n")
        is_sized = any(fnmatchcase(name, pattern) for pattern in rules["sized_by_memory"])
        gathered.add(name, rounded(value) if is_sized else value)
    elif reading.absence is Absence.NOT_PERMITTED:
        gathered.say(f"not permitted: {name}")
