"""What a bootstrap step is about: the units and files that its command lines and scripts mention.

That says what a step is about, not that it would have changed them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

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
