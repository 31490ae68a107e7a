"""The units and files that a step's command lines and scripts mention, and the files that they make.

What is mentioned says what a step is about, not that it would have changed them. These files are made, as far
as text tells: what output is redirected to; the words of tee, touch and mkdir; the target of cp, mv, install
and ln, and what they put into a folder; what follows -o, -O, --output or of=. What a program writes by
itself, and what a variable names, is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

LARGEST_SCRIPT_BYTES = 256 << 10
SUFFIXES = ("service", "socket", "timer", "target", "path", "mount")
UNIT = re.compile(rf"(?<![\w@.\\:-])[\w@.\\:-]*\w\.(?:{'|'.join(SUFFIXES)})(?![\w-])")
ORDER = re.compile(
    r"\bsystemctl\s+(?:-\S+\s+)*(?:enable|start|restart|disable|mask|unmask|stop|reload-or-restart)\b([^\n;&|)`]*)"
)
PATH = re.compile(r"(?<![\w./-])/(?:etc|opt|run(?!/systemd/)|srv|usr/local|var/lib)(?:/[\w.@+-]+)+")
SOURCED = re.compile(r"^\s*(?:\.|source)\s+[\"']?(/[\w./@+-]+)", re.MULTILINE)
SCRIPT = re.compile(r"(?<![\w./-])/[\w./@+-]+")
UNIT_FOLDERS = ("/etc/systemd", "/usr/lib/systemd", "/lib/systemd", "/run/systemd")
FILE = r"[\"']?(/[\w./@+-]+)"
REDIRECTED = re.compile(rf"(?<![-=<>\\])>{{1,2}}\|?\s*{FILE}")
ANY_REDIRECTION = re.compile(r"\d*(?:&?>{1,2}|<{1,3})[&|-]?\s*[^\s;&|()<>]+")
OUTPUT = re.compile(rf"(?:(?:^|\s)(?:-o|-O|--output|--output-document)[\s=]\s*|(?:^|\s)of=){FILE}")
COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.MULTILINE)
BETWEEN_COMMANDS = re.compile(r"[\n;&|(){}`]+")
# What may stand before the name of a command.
PREFIX = re.compile(r"[A-Za-z_]\w*=.*|!|if|then|else|do|while|until|exec|command|env|sudo")
MAKES_ALL = ("mkdir", "tee", "touch")
HAS_TARGET = ("cp", "install", "ln", "mv")
TARGET_OPTIONS = ("-t", "--target-directory")


def parse_names(text: str) -> set[str]:
    """The units and the files of programs and settings that a script or a command line mentions."""
    names = set(UNIT.findall(text)) | set(PATH.findall(text))
    for words in ORDER.findall(text):
        for quoted in words.split():
            word = quoted.strip("\"'")
            if re.fullmatch(r"[\w@.\\:-]+", word) and not word.startswith("-"):
                names.add(word if "." in word else f"{word}.service")
    return names


def parse_scripts(commands: str) -> list[str]:
    """Files that command lines name: scripts, as far as they are text."""
    return sorted(set(SCRIPT.findall(commands)))


def parse_sourced(script: str) -> list[str]:
    """Files that a script includes."""
    return sorted(set(SOURCED.findall(script)))


def paths_of(names: Iterable[str]) -> list[str]:
    """The files among names, the longest first."""
    return sorted((name for name in names if name.startswith("/")), key=len, reverse=True)


def is_looked_at(path: str, asked: Collection[str]) -> bool:
    """Whether a path is one of those that a unit looks at, or a folder above one.

    Where all units are says nothing about one.
    """
    if path.startswith(UNIT_FOLDERS):
        return False
    return path in asked or any(other.startswith(f"{path}/") for other in asked)


def files_written_in(script: str) -> set[str]:
    """The files that a shell script makes."""
    text = COMMENT.sub("", script.replace("\\\n", " "))
    found = set(REDIRECTED.findall(text))
    for command in BETWEEN_COMMANDS.split(ANY_REDIRECTION.sub(" ", text)):
        found |= files_written_by([word.strip("\"'") for word in command.split()])
    return {path.rstrip("/") for path in found}


def files_written_by(words: Sequence[str]) -> set[str]:
    """The files that one command makes, which no shell has looked at."""
    begin = next((number for number, word in enumerate(words) if not PREFIX.fullmatch(word)), len(words))
    name = words[begin].rpartition("/")[2] if begin < len(words) else ""
    arguments = words[begin + 1 :]
    named = [word for word in arguments if not word.startswith("-")]
    found = set(OUTPUT.findall(" ".join(arguments)))
    if name in MAKES_ALL or (name == "install" and "-d" in arguments):
        found |= {*named}
    elif name in HAS_TARGET:
        found |= {*_at_target(arguments, named)}
    return {path.rstrip("/") for path in found if path.startswith("/")}


def _at_target(arguments: Sequence[str], named: Sequence[str]) -> Iterator[str]:
    """The target itself and, should it be a folder, what the command puts into it."""
    target = named[-1] if len(named) > 1 else ""  # one alone is put where the command runs
    for option, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if option in TARGET_OPTIONS:
            target = value
        elif option.startswith(f"{TARGET_OPTIONS[1]}="):
            target = option.partition("=")[2]
    if target:
        yield target
        yield from (f"{target.rstrip('/')}/{source.rpartition('/')[2]}" for source in named)
