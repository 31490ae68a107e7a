"""Agents that we know: how to recognise each, and what it needs to be of use (rules/agents/*.toml).

Being known makes no unit bad; only a need that is not met does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from necroscope.findings.agent_programs import Ran, find_programs
from necroscope.model.shell_command import shell_command

_PART = re.compile("[-_.]")
_SETTINGS = ("/etc/", "/opt/", "/var/")  # where agents have files of their own


@dataclass(frozen=True, slots=True)
class FileCheck:
    """One of these files is there and has something in it; in a folder, any entry."""

    paths: tuple[str, ...]  # globs
    live_only: bool  # made at boot: in an image its absence says nothing


@dataclass(frozen=True, slots=True)
class SettingCheck:
    """One of these settings has a value: in the unit's environment or in one of these files."""

    names: tuple[str, ...]
    of: tuple[str, ...]
    is_shown: bool  # the value is harmless, and may be printed


@dataclass(frozen=True, slots=True)
class TextCheck:
    """One of these files says something: `means` is what, for a person to read."""

    pattern: re.Pattern[str]
    of: tuple[str, ...]
    means: str
    live_only: bool


@dataclass(frozen=True, slots=True)
class OptionCheck:
    """The unit's command names a file with one of these options, and it is there."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordCheck:
    """The unit's command has one of these words in it."""

    words: tuple[str, ...]  # globs; with a blank, of two words that follow each other
    unless: tuple[str, ...]  # globs of those that do not count


@dataclass(frozen=True, slots=True)
class SocketCheck:
    """Somebody listens on one of these UNIX sockets."""

    paths: tuple[str, ...]
    made_by: tuple[str, ...]  # units


@dataclass(frozen=True, slots=True)
class UnitCheck:
    """One of these units runs; in an image, it is enabled."""

    units: tuple[str, ...]  # globs
    live_only: bool  # that it is enabled is not enough


@dataclass(frozen=True, slots=True)
class WithoutCheck:
    """None of these units runs; in an image, none is enabled."""

    units: tuple[str, ...]  # globs


@dataclass(frozen=True, slots=True)
class DeviceCheck:
    """One of these files of /dev, /sys or /proc is there. An image cannot tell."""

    paths: tuple[str, ...]  # globs


@dataclass(frozen=True, slots=True)
class PciCheck:
    """A PCI device of this vendor, its class beginning like this. An image cannot tell."""

    vendor: str  # four hexadecimal digits
    class_prefix: str  # 03 is a display controller


@dataclass(frozen=True, slots=True)
class HardwareCheck:
    """The firmware names one of these makers. An image cannot tell."""

    makers: tuple[str, ...]  # globs, in small letters


@dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """The unit's processes are connected to somebody over TCP. An image cannot tell."""

    is_always: bool  # one that works keeps a connection open at all times
    only_proves: bool  # to see none says nothing, and leaves the other checks to decide


Check = (
    FileCheck
    | SettingCheck
    | TextCheck
    | OptionCheck
    | WordCheck
    | SocketCheck
    | UnitCheck
    | WithoutCheck
    | DeviceCheck
    | PciCheck
    | HardwareCheck
    | ConnectionCheck
)


@dataclass(frozen=True, slots=True)
class NeedRule:
    """One thing that an agent needs, and the ways to see that it is there: any of them is enough."""

    what: str
    any: tuple[Check, ...]
    provided_at_boot: bool  # usually written by user data at the first boot


@dataclass(frozen=True, slots=True)
class AgentRule:
    """One agent that we know."""

    id: str
    what: str
    units: tuple[str, ...]  # globs
    programs: tuple[str, ...]  # globs: of the path where there is a slash in it, else of the name
    words: tuple[str, ...]  # one of these must be in the command, too; empty: none needs to
    packages: tuple[str, ...]  # globs
    is_name_shared: bool  # others use the name of the unit, too: it never decides alone
    needs: tuple[NeedRule, ...]
    fails: str
    idles: bool  # what `fails` tells is that it does nothing: no harm by itself
    removal: tuple[str, ...]  # {unit} stands for the unit's name, behind --
    reference: str

    def removal_of(self, unit: str) -> tuple[str, ...]:
        """Return how a unit of the agent is removed, commands and advice in order."""
        return tuple(step.replace("{unit}", shell_command((), [unit])) for step in self.removal)


@cache
def agent_rules() -> tuple[AgentRule, ...]:
    """All rules, in the order of the files."""
    folder = files("necroscope.findings").joinpath("rules/agents")
    texts = [file.read_text() for file in sorted(folder.iterdir(), key=lambda file: file.name)]
    return tuple(_rule(id, row) for text in texts for id, row in tomllib.loads(text).items())


def recognise(
    name: str, commands: Sequence[str], package: str, files: Sequence[str] = ()
) -> tuple[AgentRule, str] | None:
    """The agent that a unit runs and what gave it away; None for a unit that we do not know.

    The program decides, and else the unit's name together with its package, with a program that has the
    agent's in its name, or with a file of the agent that its commands or `files` (EnvironmentFile=) name.
    The name alone counts only where no package owns the unit and its commands do not tell what they run.
    """
    ran = find_programs(commands)
    words = {word for command in commands for word in command.split()}
    for rule in agent_rules():
        if program := _matching_program(rule, ran, words):
            return rule, f"its program {program}"
    named = [rule for rule in agent_rules() if _fits(name, rule.units)]
    for rule in named:
        if package and _fits(package, rule.packages):
            return rule, f"its package {package}"
    for rule in named:
        if program := next((one for one in ran.programs if _is_akin(one, rule)), ""):
            return rule, f"its name {name} and its program {program}"
        if file := next((one for one in map(_path_in, (*files, *sorted(words))) if _is_own(one, rule)), ""):
            return rule, f"its name {name} and the file {file}"
    if named and not named[0].is_name_shared and not package and ran.is_veiled:
        return named[0], f"its name {name}; nothing else tells what it runs"
    return None


def _matching_program(rule: AgentRule, ran: Ran, words: set[str]) -> str:
    if rule.words and not words.intersection(rule.words):
        return ""
    for program in ran.programs:
        for glob in rule.programs:
            if fnmatchcase(program if "/" in glob else program.rpartition("/")[2], glob):
                return program
    return ""


def _is_akin(program: str, rule: AgentRule) -> bool:
    """Whether a file's name has that of the agent's program in it: `fake-ecs-agent`, `ecs-agent-wrapper`."""
    parts = _PART.split(program.rpartition("/")[2])
    wholes = [_PART.split(glob) for glob in rule.programs if "/" not in glob and "*" not in glob]
    return any(parts[at : at + len(whole)] == whole for whole in wholes for at in range(len(parts)))


def _is_own(path: str, rule: AgentRule) -> bool:
    """Whether a path is that of a file by which the rule sees how the agent is configured."""
    checks = [check for need in rule.needs for check in need.any]
    globs = [glob for check in checks for glob in (*getattr(check, "of", ()), *getattr(check, "paths", ()))]
    return _fits(path, [glob for glob in globs if glob.startswith(_SETTINGS)])


def _path_in(word: str) -> str:
    """The path of `-/etc/x` (EnvironmentFile=), of `--config=/etc/x` and of a plain word."""
    text = word.strip("\"'").removeprefix("-")
    return text if text.startswith("/") else text.partition("=")[2].strip("\"'")


def _fits(text: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)


def _rule(id: str, row: Mapping[str, Any]) -> AgentRule:
    return AgentRule(
        id=id,
        what=row["what"],
        units=_words(row["units"]),
        programs=_words(row.get("programs", ())),
        words=_words(row.get("words", ())),
        packages=_words(row.get("packages", ())),
        is_name_shared=row.get("name_is_shared", False),
        needs=tuple(
            NeedRule(
                need["what"],
                tuple(_check(check) for check in need["any"]),
                need.get("provided_at_boot", False),
            )
            for need in row.get("needs", ())
        ),
        fails=row["fails"],
        idles=row.get("idles", False),
        removal=_words(row["removal"]),
        reference=row["reference"],
    )


# A table of `any` stands for the check whose key is in it.
_KINDS: Mapping[str, Callable[[Mapping[str, Any]], Check]] = {
    "file": lambda row: FileCheck(_words(row["file"]), _live_only(row)),
    "setting": lambda row: SettingCheck(_words(row["setting"]), _words(row["of"]), row.get("show", False)),
    "text": lambda row: TextCheck(
        re.compile(row["text"], re.MULTILINE), _words(row["of"]), row["means"], _live_only(row)
    ),
    "option": lambda row: OptionCheck(_words(row["option"])),
    "word": lambda row: WordCheck(_words(row["word"]), _words(row.get("unless", ()))),
    "socket": lambda row: SocketCheck(_words(row["socket"]), _words(row["made_by"])),
    "unit": lambda row: UnitCheck(_words(row["unit"]), _live_only(row)),
    "without": lambda row: WithoutCheck(_words(row["without"])),
    "device": lambda row: DeviceCheck(_words(row["device"])),
    "pci": lambda row: PciCheck(row["pci"], row["class"]),
    "hardware": lambda row: HardwareCheck(_words(row["hardware"])),
    "connection": lambda row: ConnectionCheck(row.get("always", False), row.get("only_proves", False)),
}


def _check(row: Mapping[str, Any]) -> Check:
    (kind,) = _KINDS.keys() & row.keys()
    return _KINDS[kind](row)


def _live_only(row: Mapping[str, Any]) -> bool:
    return bool(row.get("live_only", False))


def _words(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
