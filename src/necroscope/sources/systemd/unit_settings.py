"""What unit files say: sections and settings, with drop-ins laid over them, as systemd reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

LONGEST_LINE = 1 << 20  # systemd refuses longer ones, and the file with them
LARGEST_FILE_BYTES = 4 << 20  # a bound of our own; real ones have a few kB

# Every mixture of line ends that systemd takes for one.
_LINE_END = re.compile(r"\r\n\0?|\n\r?\0?|\r\0?|\0")
_BLANK = " \t\n\r"
_UNSAFE = re.compile("[\x01-\x1f\"'\\\\\x7f]")
_NOT_TEXT = re.compile("[\ud800-\udfff]")  # where bytes could not be decoded
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{3}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}

# An empty assignment takes nothing back of these.
_KEPT = frozenset(
    (
        "Unit.Requires",
        "Unit.Requisite",
        "Unit.Wants",
        "Unit.BindsTo",
        "Unit.PartOf",
        "Unit.Upholds",
        "Unit.Conflicts",
        "Unit.Before",
        "Unit.After",
        "Unit.OnFailure",
        "Unit.OnSuccess",
        "Install.Also",
    )
)
# An empty assignment to one of a family takes back all of it.
_FAMILIES = ("Unit.Condition", "Unit.Assert", "Socket.Listen", "Timer.On")
_PATH_TRIGGERS = frozenset(
    f"Path.{key}"
    for key in ("PathExists", "PathExistsGlob", "PathChanged", "PathModified", "DirectoryNotEmpty")
)
_SECONDS = {
    **dict.fromkeys(("usec", "us", "µs", "μs"), 1e-6),
    **dict.fromkeys(("msec", "ms"), 1e-3),
    **dict.fromkeys(("seconds", "second", "sec", "s", ""), 1.0),
    **dict.fromkeys(("minutes", "minute", "min", "m"), 60.0),
    **dict.fromkeys(("hours", "hour", "hr", "h"), 3600.0),
    **dict.fromkeys(("days", "day", "d"), 86400.0),
    **dict.fromkeys(("weeks", "week", "w"), 604800.0),
    **dict.fromkeys(("months", "month", "M"), 2629800.0),
    **dict.fromkeys(("years", "year", "y"), 31557600.0),
}
_TIME_PART = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([A-Za-zµμ]*)\s*")


class Assignment(NamedTuple):
    """One line of a unit file."""

    section: str
    key: str
    value: str


def decode(data: bytes) -> str:
    """The text of a unit file; what is no text stays recognisable, since comments may hold it."""
    return data.decode(errors="surrogateescape").removeprefix("\ufeff")


def parse_unit_file(text: str) -> tuple[Assignment, ...]:
    """All assignments, in order. Raises ValueError where systemd would refuse the whole file."""
    if len(text) > LARGEST_FILE_BYTES:
        raise ValueError("too large for a unit file")
    found: list[Assignment] = []
    section = ""
    is_all_text = not _NOT_TEXT.search(text)
    for line in _logical_lines(text):
        if not is_all_text and _NOT_TEXT.search(line):
            raise ValueError("a line is not text")
        if line[0] == "[":
            section = _section(line)
            continue
        key, equals, value = line.partition("=")
        # systemd ignores what stands before the first section, and lines that assign nothing.
        if section and equals and (key := key.strip(_BLANK)):
            found.append(Assignment(section, key, value.strip(_BLANK)))
    return tuple(found)


def _section(line: str) -> str:
    name = line[1:-1]
    if line[-1] != "]" or len(line) < 2 or _UNSAFE.search(name):
        raise ValueError(f"{line[:80]} is not a section")
    return name


def _logical_lines(text: str) -> Iterable[str]:
    """Lines without comments and blanks around them, with continuation lines put together."""
    begun: list[str] = []  # put together once: adding line to line would take forever on a hostile file
    length = 0
    for physical in _LINE_END.split(text):
        if physical.lstrip(_BLANK)[:1] in ("#", ";"):
            continue
        length += len(physical)
        if length >= LONGEST_LINE:
            raise ValueError("a line is too long")
        if (len(physical) - len(physical.rstrip("\\"))) % 2:
            begun.append(physical[:-1] + " ")
            continue
        if line := "".join((*begun, physical)).strip(_BLANK):
            yield line
        begun, length = [], 0
    if line := "".join(begun).strip(_BLANK):
        yield line


def merge(files: Iterable[Iterable[Assignment]]) -> Mapping[str, tuple[str, ...]]:
    """All values by `Section.Key`, later files after earlier ones; empty assignments take back what was set.

    Of a setting with one value the last counts.
    """
    merged: dict[str, list[str]] = {}
    for assignments in files:
        for section, key, value in assignments:
            name = f"{section}.{key}"
            if value:
                merged.setdefault(name, []).append(value)
            elif name not in _KEPT:
                for taken_back in _taken_back(name, merged):
                    del merged[taken_back]
    return {name: tuple(values) for name, values in merged.items()}


def _taken_back(name: str, merged: Mapping[str, object]) -> list[str]:
    if name in _PATH_TRIGGERS:
        return [other for other in merged if other in _PATH_TRIGGERS]
    for family in _FAMILIES:
        if name.startswith(family):
            return [other for other in merged if other.startswith(family)]
    return [name] if name in merged else []


def words_of(values: Iterable[str]) -> tuple[str, ...]:
    """The words of a setting that is a list of them; quotes hold a word together, escapes stay."""
    return tuple(word for value in values for word in split_words(value))


def split_words(text: str) -> list[str]:
    """The words of one line. What follows a quote that nobody closes is left out, as systemd does."""
    if '"' not in text and "'" not in text:
        return text.split()
    words: list[str] = []
    word, quote, is_begun = "", "", False
    for letter in text:
        if quote:
            if letter == quote:
                quote = ""
            else:
                word += letter
        elif letter in "\"'":
            quote, is_begun = letter, True
        elif letter in _BLANK:
            if is_begun:
                words.append(word)
            word, is_begun = "", False
        else:
            word, is_begun = word + letter, True
    if is_begun and not quote:
        words.append(word)
    return words


def unescape(word: str) -> str:
    """A word with its C escapes resolved, as in the commands of services."""

    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xu" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code.isdigit():
            return chr(int(code, 8))
        return _ESCAPED.get(code, code)

    return _ESCAPE.sub(one, word) if "\\" in word else word


def is_true(values: Iterable[str]) -> bool:
    """Whether the last of a setting's values is one of systemd's words for yes."""
    last = ""
    for last in values:  # noqa: B007 - only the last counts
        pass
    return last.lower() in ("1", "yes", "y", "true", "t", "on")


def parse_time_span(text: str) -> float:
    """The seconds of `5min 20s`, `100ms`, `10`, `infinity`. Raises ValueError if systemd would refuse it."""
    text = text.strip()
    if text == "infinity":
        return math.inf
    total, at = 0.0, 0
    while match := _TIME_PART.match(text, at):
        if match[2] not in _SECONDS:
            break
        total += float(match[1]) * _SECONDS[match[2]]
        at = match.end()
    if not text or at < len(text):
        raise ValueError(f"{text} is no length of time")
    return total
