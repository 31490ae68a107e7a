"""The commands of services, and whether an image has what it takes to run them.

Reads    the first bytes of a program
Needs    nothing; no program is run
Costs    about 0.2 ms per command of an image
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_settings import split_words, unescape

# Where systemd looks for a program without a folder; the last two where /usr is not merged.
DEFAULT_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_PREFIXES = re.compile(r"[@\-:+!|]*")
_FIRST_BYTES = 256


@dataclass(frozen=True, slots=True)
class Command:
    """One command of an Exec setting."""

    program: str  # empty where a shell will tell (`|`, since systemd 258)
    may_fail: bool


def parse_commands(value: str) -> Iterator[Command]:
    """The commands of one line: there may be several, with a semicolon that stands alone between them."""
    words = split_words(value)
    while words:
        end = words.index(";") if ";" in words else len(words)
        if words[:end]:
            prefixes = _PREFIXES.match(words[0])
            length = prefixes.end() if prefixes else 0
            program = "" if "|" in words[0][:length] else unescape(words[0][length:])
            yield Command(program, may_fail="-" in words[0][:length])
        words = words[end + 1 :]


def why_not_run(host: Host, program: str, search_path: tuple[str, ...] = DEFAULT_PATH) -> str:
    """What is missing to run a program, as the end of a sentence; empty where nothing is."""
    path = program if program.startswith("/") else _look_up(host, program, search_path)
    if not path:
        return f"there is no {program} in {':'.join(search_path)}"
    reason = _why_not_executable(host, path)
    return reason or _why_not_interpreted(host, path)


def _look_up(host: Host, program: str, search_path: tuple[str, ...]) -> str:
    paths = (f"{folder}/{program}" for folder in search_path)
    return next((path for path in paths if not _why_not_executable(host, path)), "")


def _why_not_executable(host: Host, path: str) -> str:
    try:
        mode = os.stat(host.path(path)).st_mode  # noqa: PTH116
    except PermissionError:
        return ""  # it cannot be told
    except OSError:
        return f"{path} is not there"
    if not stat.S_ISREG(mode):
        return f"{path} is not a file"
    return "" if mode & 0o111 else f"{path} is not executable"


def _why_not_interpreted(host: Host, path: str) -> str:
    begin = _first_bytes(host, path)
    if begin is None:
        return ""
    if not begin.startswith(b"#!"):
        # systemd gives no shell a try. Of other binary formats the kernel may have been told.
        is_text = begin.isascii() and not begin.startswith(b"\x7fELF")
        return f"{path} does not begin with #!" if is_text else ""
    # The kernel cuts at blanks and tabs only: a line end of DOS belongs to the name.
    line = begin[2:].partition(b"\n")[0].decode(errors="replace").strip(" \t")
    words = re.split(r"[ \t]+", line) if line else []
    if not words:
        return f"{path} names no interpreter"
    if words[0].endswith("\r"):
        return f"{path} is a script with the line ends of DOS, which the kernel takes for part of a name"
    reason = _why_not_executable(host, words[0])
    if not reason and words[0].endswith("/env"):
        plain = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        if plain and plain[0].endswith("\r") and not words[1].startswith("-S"):  # -S cuts at it
            reason = "its line ends of DOS are part of the name that env looks for"
        elif plain and not plain[0].startswith("/") and not _look_up(host, plain[0].rstrip(), DEFAULT_PATH):
            reason = f"there is no {plain[0].rstrip()} in {':'.join(DEFAULT_PATH)}"
    return f"{path} is a script, and {reason}" if reason else ""


def _first_bytes(host: Host, path: str) -> bytes | None:
    try:
        with host.found(path) as found:
            descriptor = os.open(found, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, _FIRST_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)
