"""Names that a local user may give, a recording made of them, and how a shell reads what we print of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from necroscope.model.event import Event
from tests.cli.test_diagnose import RESET, moments
from tests.stored import event_of, sealed_segment

NAMES = (
    "a\ntouch pwned\n",
    "a\rtouch pwned\r",
    "-x",
    "--help",
    "$(touch pwned)",
    "`touch pwned`",
    "a; touch pwned #",
    "a && touch pwned",
    "a' ; touch pwned; '",
    'a" ; touch pwned; "',
    "a\\",
    "~",
    "*",
    "!!",
    "a  b\tc",
    "\x1b[2J\x1b]0;title\x07",
    "\x7f\x9b2J",
    "\u202etxt.exe",
    "\u200b\ufeff",
    "x: necroscope fix --undo y",
    "END\ntouch pwned",
)
PROGRAMS = {
    *("systemctl", "journalctl", "necroscope", "kubectl", "rm", "ln", "mkdir", "kill", "fuser", "ps", "ipcs"),
    *("ipcrm", "sync", "echo", "ethtool", "perf", "dmesg", "grep", "less", "slabtop", "head", "#"),
}
# What bash does with a line if there are no programs: each command prints its words. The shell is restricted,
# so that it writes no file, and `kill` and `echo` are not its own.
PRELUDE = """enable -n kill echo
command_not_found_handle() { builtin printf '%s\\0' "$@" $'\\n'; }
"""


def hostile_store(root: Path, name: str) -> Path:
    """A store in which a unit, its process, a network device and the lines about them have this name."""
    new = {"ecs.service": f"{name}.service", "agent": name, "kubelet": name, "eth0": name}
    recorded = tuple(renamed(moment, new) for moment in moments())
    events: list[Event] = [
        replace(RESET, text=f"{RESET.text} {name}", device=name),
        event_of("unit-restart", 22, unit=f"{name}.service"),
        event_of("cgroup-leak", 24, unit=f"{name}.service", process=name),
        replace(event_of("user-mark", 25), text=name),
    ]
    sealed_segment(root, recorded, events)
    return root


def renamed(value: Any, names: dict[str, str]) -> Any:
    """The same with other names in it, however deep they are."""
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, tuple):
        made = [renamed(one, names) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    if isinstance(value, dict):
        return {key: renamed(one, names) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{field.name: renamed(getattr(value, field.name), names) for field in fields(value)}
        )
    return value


def strings(document: Any, *keys: str, key: str = "") -> Iterator[str]:
    """All texts in a document; with `keys` only those that stand under one of these."""
    if isinstance(document, str) and (not keys or key in keys):
        yield document
    elif isinstance(document, dict):
        for name, one in document.items():
            yield from strings(one, *keys, key=name)
    elif isinstance(document, list | tuple):
        for one in document:
            yield from strings(one, *keys, key=key)


def commands_in(line: str, folder: Path, shell: str = "/bin/bash") -> list[list[str]]:
    """The words of each command that bash starts when the line is pasted. Nothing else may happen."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [shell, "-r", "-c", f"{PRELUDE}{line}"],
        capture_output=True,
        cwd=folder,
        env={"PATH": "/nowhere", "LC_ALL": "C"},
        check=False,
    )
    assert b"syntax error" not in done.stderr and b"unexpected EOF" not in done.stderr, (line, done.stderr)
    assert list(folder.iterdir()) == [], f"{line!r} wrote files"
    records = os.fsdecode(done.stdout).split("\0\n\0")[:-1]
    return [record.split("\0") for record in records]


def check_command(line: str, folder: Path, name: str = "") -> None:
    """A person may paste it: it shows what it does, starts only known programs, and has the name whole."""
    assert all(part.isprintable() for part in line.split("\n")), ascii(line)
    started = commands_in(line, folder)
    assert {words[0] for words in started} <= PROGRAMS, (line, started)
    if name:
        (words, *_) = [words for words in started if any(name in word for word in words)] or [[]]
        assert words, (line, started)
        place = next(place for place, word in enumerate(words) if name in word)
        is_value = words[place - 1].startswith("-") or words[place].startswith("/")
        assert "--" in words[:place] or is_value or not words[place].startswith("-"), line


def check_visible(text: str) -> None:
    """Nothing in a text of several lines steers a terminal or disguises a line."""
    bad = {character for character in text if not character.isprintable() and character != "\n"}
    assert not bad, ascii(sorted(bad))
