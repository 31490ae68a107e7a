"""The environment variables that a unit's processes get, from its settings and the files they name.

Reads    the EnvironmentFile= of a unit; the values of Environment= are in its unit file
Needs    the right to read these files, which often only root has
Costs    one small read per file
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from necroscope.model.examination import NotChecked
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing

ReadText = Callable[[Host, str], Reading[str]]

# As systemd reads it: quotes may go over several lines, and a backslash takes the end of a line away.
_ENTRY = re.compile(
    r"""\s*+(?:[\#;](?:\\.|[^\\\n])*+\\?
    |(?P<name>[^=\n]++)
     (?:=(?P<quoted>(?:[^\S\n]*+(?:'[^']*+(?:'|\Z)|"(?:\\.|[^"\\])*+(?:"|\\?\Z)))*+)
     [^\S\n]*+(?P<plain>(?:\\.|[^\\\n])*+))?+\\?)?+""",
    re.DOTALL | re.VERBOSE,
)
_QUOTED = re.compile(r"""'([^']*+)'?|"((?:\\.|[^"\\])*+)"?""", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\(?:([\\"`$])|\n)')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def parse_assignments(values: Iterable[str]) -> dict[str, str]:
    """`Environment=` lines: NAME=value words, in quotes where there are blanks in them."""
    variables = {}
    for value in values:
        try:
            words = shlex.split(value)
        except ValueError:  # a quote without its end: systemd ignores the line
            continue
        for word in words:
            name, equals, content = word.partition("=")
            if equals and _is_name(name):
                variables[name] = content
    return variables


def parse_environment_file(text: str) -> dict[str, str]:
    """An environment file: one assignment a line, comments with # or ;, values maybe in quotes."""
    variables = {}
    for match in _ENTRY.finditer(text):
        name = (match["name"] or "").strip().removeprefix("export ").strip()
        if match["plain"] is not None and _is_name(name):
            quoted = "".join(map(_unquoted, _QUOTED.finditer(match["quoted"])))
            variables[name] = quoted + _ESCAPED.sub(_escaped, match["plain"]).strip()
    return variables


def _is_name(text: str) -> bool:
    return text.isascii() and text.isidentifier()


def _unquoted(match: re.Match[str]) -> str:
    if match[1] is not None:
        return match[1]
    return _ESCAPED_IN_QUOTES.sub(lambda escaped: escaped[1] or "", match[2])


def _escaped(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def read_text(host: Host, name: str) -> Reading[str]:
    """The text of an environment file, as far as it is text; a pipe is none."""
    try:
        mode = os.stat(host.path(name)).st_mode  # noqa: PTH116
    except OSError as error:
        return missing(name, error)
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return Reading(absence=Absence.BROKEN, detail=f"{name} is no regular file")
    return host.read(name, errors="replace")


def read_variables(
    host: Host, settings: Mapping[str, Sequence[str]], read: ReadText = read_text
) -> tuple[dict[str, str], Mapping[str, Reading[str]]]:
    """The variables of a unit by its settings, and the files that there is nothing of, by name.

    What a file says counts more than the unit itself.
    """
    variables = parse_assignments(settings.get("Service.Environment", ()))
    unread: dict[str, Reading[str]] = {}
    for setting in settings.get("Service.EnvironmentFile", ()):
        for name in _files(host, setting.removeprefix("-")):
            reading = read(host, name)
            if reading.value is None:
                unread[name] = reading
            else:
                variables |= parse_environment_file(reading.value)
    return variables, unread


def read_environment(
    host: Host, settings: Mapping[str, Sequence[str]]
) -> tuple[dict[str, str], tuple[NotChecked, ...]]:
    """The variables of a unit by its settings, and the files that could not be read.

    A file that is not there is no news: where it is not optional, the unit cannot start.
    """
    variables, unread = read_variables(host, settings)
    return variables, tuple(
        NotChecked(name, reading.reason, "run as root", ("unit-orphaned-agent",))
        for name, reading in unread.items()
        if reading.absence is not Absence.NOT_SUPPORTED
    )


def _files(host: Host, name: str) -> Iterator[str]:
    """The files that a setting names; a pattern in the last part of the path is looked up."""
    if not name.startswith("/") or "%" in name:  # only systemd knows what it stands for
        return
    folder, _, pattern = name.rpartition("/")
    if not set(pattern) & set("*?["):
        yield name
        return
    for file in host.names(folder or "/").value or ():
        if fnmatchcase(file, pattern):
            yield f"{folder}/{file}"
