"""What the vendor of an image wants enabled: systemd's preset files.

Reads    *.preset in systemd/system-preset below /etc, /run, /usr/local/lib, /usr/lib and /lib
Needs    nothing
Costs    part of reading the unit files

The first rule that fits a unit counts. Where none fits, systemd enables it.
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from functools import partial
from typing import Any

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_names import parse_unit_name

FOLDERS = tuple(
    f"{top}/systemd/system-preset" for top in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")
)
LARGEST_FILE = 256 << 10  # a bound of our own; real ones have a few kB
_ACTIONS = {"enable": "enabled", "disable": "disabled", "ignore": ""}


@dataclass(frozen=True, slots=True)
class PresetRule:
    """One line of a preset file."""

    file: str
    line: str
    result: str  # enabled, disabled; empty where systemd shall leave the unit as it is
    pattern: str

    def fits(self, name: str) -> bool:
        """Whether the rule is about a unit."""
        return self.pattern == name or fnmatch.fnmatchcase(name, self.pattern)

    def __str__(self) -> str:
        return f"{self.file}: {self.line}"


@dataclass(frozen=True, slots=True)
class Presets:
    """All rules in the order in which they count, and why some could not be read."""

    rules: tuple[PresetRule, ...]
    not_read: tuple[str, ...]

    def rule_for(self, name: str) -> PresetRule | None:
        """The rule that decides about a unit."""
        return next((rule for rule in self.rules if rule.fits(name)), None)


def read_presets(host: Host, knows_ignore: bool) -> Presets:
    """What the preset files say. `ignore` came with systemd 254; before, it said nothing."""
    files: dict[str, str] = {}
    readings: list[Reading[Any]] = []
    for folder in FOLDERS:
        names = host.names(folder)
        readings.append(names)
        for name in names.value or ():
            if name.endswith(".preset"):
                files.setdefault(name, f"{folder}/{name}")
    rules: list[PresetRule] = []
    for name in sorted(files):
        parsed = host.read(files[name], errors="replace").parsed(partial(parse_presets, file=files[name]))
        readings.append(parsed)
        rules += parsed.value or ()
    # A folder that is not there, or a link to nowhere, is no loss.
    is_lost = (Absence.NOT_PERMITTED, Absence.BROKEN)
    return Presets(
        tuple(rule for rule in rules if knows_ignore or rule.result),
        tuple(reading.reason for reading in readings if reading.absence in is_lost),
    )


def parse_presets(text: str, file: str) -> tuple[PresetRule, ...]:
    """The rules of one file; lines that are none are left out, as systemd does."""
    if len(text) > LARGEST_FILE:
        raise ValueError("too large for a preset file")
    return tuple(rule for line in re.split("[\r\n\0]+", text) if (rule := _rule(line.strip(" \t"), file)))


def _rule(line: str, file: str) -> PresetRule | None:
    words = line.split(maxsplit=1)
    if len(words) < 2 or words[0] not in _ACTIONS:
        return None
    action, pattern = words
    if action == "enable" and len(words := pattern.split()) > 1:
        # Instances may follow a template. `list-unit-files` does not look at them, and neither do we.
        pattern = words[0]
        name = parse_unit_name(pattern)
        if not name or not name.is_template:
            return None
    return PresetRule(file, line, _ACTIONS[action], pattern.replace("[^", "[!"))
