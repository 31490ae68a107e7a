"""Needs that files can meet: a file, a setting, a line. An image can tell them as well as a machine.

Besides the files of the rule, those are searched that the unit's command names. Values are never
printed, unless the rule says that they are harmless.
"""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import NamedTuple

from necroscope.findings.agents import FileCheck, OptionCheck, SettingCheck, TextCheck, WordCheck
from necroscope.inventory.agent_needs.settings_text import MOST_CHARACTERS, find_values, is_placeholder
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing

MOST_NAMED = 4  # of the places where something may be, for a person to read
MOST_MATCHES = 200  # of one glob: nobody splits a configuration into more files
LONGEST_SHOWN = 60
CONFIGURATION = re.compile(r"/.+\.(conf|cfg|config|ya?ml|json|toml|hcl|ini|env)")
NAMING = re.compile(r"--?conf(ig)?([-_](dir|directory|file|path))?")  # options that name a file or a folder
VARIABLE = re.compile(r"\$\{?(\w+)\}?")
UNKNOWN_COMMAND = "the unit's command is not known"
UNKNOWN_VARIABLES = "the unit's command has variables that are not known here"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the needs of a unit are checked against, apart from files."""

    environment: Mapping[str, str]  # Environment= and what its EnvironmentFiles say
    units: Mapping[str, str]  # name -> active, failed, inactive, ...; in an image enabled, disabled, ...
    calls: tuple[str, ...] | None  # whom the unit is connected to; None: not known
    commands: tuple[str, ...] = ()  # its ExecStart=, for the files that they name


class Outcome(NamedTuple):
    """Whether it is there, and what was seen where, or why it cannot be told."""

    met: bool | None
    seen: str


AT_BOOT = Outcome(None, "an image cannot tell: it is made at boot")


@dataclass(slots=True)
class _InVain:
    """What was looked at without finding it."""

    unclear: list[str] = field(default_factory=list)  # why something could not be looked at
    said: list[str] = field(default_factory=list)  # what is there, and not enough
    absent: list[str] = field(default_factory=list)  # what is not there

    def outcome(self, nowhere: str) -> Outcome:
        """Not there; or not to be told, where something could not be looked at."""
        if self.unclear:
            return Outcome(None, "; ".join(self.unclear))
        absent = [f"there is no {either(self.absent)}"] if self.absent else []
        return Outcome(False, "; ".join([*self.said, *absent]) or nowhere)


def check_file(host: Host, check: FileCheck, _: Surroundings) -> Outcome:
    """Whether one of the files is there, with something in it."""
    if check.live_only and not host.is_live:
        return AT_BOOT
    in_vain = _InVain()
    for path in _expanded(host, check.paths, in_vain):
        reading = _size(host, path)
        if reading.value:
            return Outcome(True, f"{path} is there")
        if reading.value == 0:
            in_vain.said.append(f"{path} is empty")
        elif reading.absence is Absence.NOT_SUPPORTED:
            in_vain.absent.append(path)
        else:
            in_vain.unclear.append(reading.reason)
    return in_vain.outcome("no file is named")


def check_setting(host: Host, check: SettingCheck, around: Surroundings) -> Outcome:
    """Whether one of the settings has a value, in the environment or in one of the files."""
    in_vain = _InVain()
    for name in check.names:
        if name in around.environment:
            outcome = _judged(check, name, [around.environment[name]], "the unit's environment", around)
            if outcome.met:
                return outcome
            in_vain.said.append(outcome.seen)
    for path, text in _texts(host, check.of, around, in_vain):
        outcome = _setting_in(text, check, path, around)
        if outcome.met:
            return outcome
        (in_vain.unclear if outcome.met is None else in_vain.said).append(outcome.seen)
    return in_vain.outcome(f"no {either(check.names)} in the unit's environment")


def check_text(host: Host, check: TextCheck, around: Surroundings) -> Outcome:
    """Whether one of the files says it."""
    if check.live_only and not host.is_live:
        return AT_BOOT
    in_vain = _InVain()
    without = []
    for path, text in _texts(host, check.of, around, in_vain):
        if check.pattern.search(text):
            return Outcome(True, f"{check.means} in {path}")
        without.append(path)
    if without:
        in_vain.said.append(f"no {check.means} in {either(without)}")
        in_vain.absent.clear()  # other places where it could stand are no news then
    return in_vain.outcome(f"there is no {either(check.of)}")


def check_option(host: Host, check: OptionCheck, around: Surroundings) -> Outcome:
    """Whether the unit's command names a file with one of the options, and it is there."""
    if not around.commands:
        return Outcome(None, UNKNOWN_COMMAND)
    words = _words(around)
    named = [after for word, after in pairwise(words) if word in check.options]
    named += [word.partition("=")[2] for word in words if word.partition("=")[0] in check.options]
    if paths := tuple(name for name in named if name.startswith("/")):
        return check_file(host, FileCheck(paths, live_only=False), around)
    if any("$" in word for word in words):
        return Outcome(None, UNKNOWN_VARIABLES)
    return Outcome(False, f"no {either(check.options)} in the unit's command")


def check_word(_: Host, check: WordCheck, around: Surroundings) -> Outcome:
    """Whether the unit's command has one of the words in it."""
    if not around.commands:
        return Outcome(None, UNKNOWN_COMMAND)
    words = _words(around)
    for said in (*words, *map(" ".join, pairwise(words))):
        if _fits(said, check.words) and not _fits(said, check.unless):
            return Outcome(True, f"{re.split('[ =]', said)[0]} in the unit's command")
    if any("$" in word for word in words):
        return Outcome(None, UNKNOWN_VARIABLES)
    return Outcome(False, f"no {either(check.words)} in the unit's command")


def _setting_in(text: str, check: SettingCheck, path: str, around: Surroundings) -> Outcome:
    if "\0" in text:
        return Outcome(None, f"{path} is not text")
    seen = []
    for name in check.names:
        try:
            values = find_values(text, name, path)
        except ValueError as error:
            return Outcome(None, f"{path}: {error}")
        if values:
            outcome = _judged(check, name, values, path, around)
            if outcome.met:
                return outcome
            seen.append(outcome.seen)
    return Outcome(False, "; ".join(seen) or f"no {either(check.names)} in {path}")


def _judged(check: SettingCheck, name: str, values: list[str], place: str, around: Surroundings) -> Outcome:
    """What to make of the values of one setting."""
    # In files of variables the last assignment counts; elsewhere each may be in a section of its own.
    for value in values[-1:] if name.isupper() else values:
        variable = VARIABLE.fullmatch(value)
        meant = around.environment.get(variable[1], "") if variable else value
        if meant and not is_placeholder(meant):
            shown = meant[:LONGEST_SHOWN] if meant.isprintable() else "..."
            return Outcome(
                True, f"{name}={shown} in {place}" if check.is_shown else f"{name} is set in {place}"
            )
    if any(values):
        return Outcome(False, f"{name} in {place} is only a placeholder")
    return Outcome(False, f"{name} in {place} is empty")


def _texts(
    host: Host, globs: Iterable[str], around: Surroundings, in_vain: _InVain
) -> Iterator[tuple[str, str]]:
    """The files that the unit's command names and those of a rule, with their text."""
    named = [path for name in _named(around) for path in _files_of(host, name)]
    for path in dict.fromkeys(_expanded(host, [*named, *globs], in_vain)):
        reading = host.read_regular(path, "replace", MOST_CHARACTERS)
        if reading.value is not None:
            yield path, reading.value
        elif reading.absence is Absence.NOT_SUPPORTED:
            in_vain.absent.append(path)
        else:
            in_vain.unclear.append(reading.reason)


def _named(around: Surroundings) -> Iterator[str]:
    """Paths in the unit's command that look like configurations, or that an option says are."""
    for before, word in pairwise(["", *_words(around)]):
        path = _path_in(word)
        is_told = NAMING.fullmatch(before) or NAMING.fullmatch(word.partition("=")[0])
        if path.startswith("/etc/") or CONFIGURATION.fullmatch(path) or (is_told and path.startswith("/")):
            yield path


def _files_of(host: Host, path: str) -> list[str]:
    """The configurations in a folder, which stands for them; of anything else the path itself."""
    names = host.names(path)
    if names.value is None:
        return [path]
    found = [f"{path.rstrip('/')}/{name}" for name in names.value]
    return [file for file in found if CONFIGURATION.fullmatch(file)][:MOST_MATCHES]


def _path_in(word: str) -> str:
    """The path of `/etc/x.conf` and of `--config=/etc/x.conf`."""
    path = word.partition("=")[2] if word.startswith("-") else word
    return re.sub("/+", "/", path)


def _words(around: Surroundings) -> list[str]:
    """The words behind the programs, variables that are known filled in."""
    words: list[str] = []
    for command in around.commands:
        filled = VARIABLE.sub(lambda match: around.environment.get(match[1], match[0]), command)
        try:
            words += shlex.split(filled)[1:]
        except ValueError:  # a quotation without an end
            words += filled.split()[1:]
    return [word for word in words if word.isprintable()]


def _size(host: Host, path: str) -> Reading[int]:
    """How much there is in a file or folder. What is neither has something in it."""
    try:
        place = host.path(path)
        found = place.stat()
    except OSError as error:
        return missing(path, error)
    if stat.S_ISDIR(found.st_mode):
        return host.names(path).parsed(len)
    return Reading(found.st_size if stat.S_ISREG(found.st_mode) else 1)


def _expanded(host: Host, globs: Iterable[str], in_vain: _InVain) -> Iterator[str]:
    """The paths that globs stand for; one without a pattern stands for itself, be it there or not."""
    for glob in globs:
        paths = expand(host, glob, in_vain.unclear)
        if not paths:
            in_vain.absent.append(glob)
        yield from paths


def expand(host: Host, glob: str, unclear: list[str]) -> list[str]:
    """The paths of a glob; why a folder could not be looked into is added to `unclear`."""
    paths = [""]
    for part in glob.strip("/").split("/"):
        if not re.search(r"[*?\[]", part):
            paths = [f"{path}/{part}" for path in paths]
            continue
        found: list[str] = []
        for path in paths:
            names = host.names(path or "/")
            if names.value is None and names.absence is not Absence.NOT_SUPPORTED:
                unclear.append(names.reason)
            found += [f"{path}/{name}" for name in names.value or () if fnmatchcase(name, part)]
        paths = found[:MOST_MATCHES]
    return paths


def _fits(text: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)


def either(words: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`; of many, the first ones."""
    if len(words) > MOST_NAMED:
        words = [*words[: MOST_NAMED - 1], f"{len(words) - MOST_NAMED + 1} others"]
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
