"""Units that have failed, and of the steps among them the files that they name and those that they write.

Reads    systemd over D-Bus; the scripts that a failed step runs
Needs    the right to read the scripts
Costs    0.3 ms per unit that failed, and a read per script
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from necroscope.sources.host import Host
from necroscope.sources.script_files import (
    LARGEST_SCRIPT_BYTES,
    files_written_by,
    files_written_in,
    is_looked_at,
    parse_names,
    parse_scripts,
    parse_sourced,
    paths_of,
)

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

COMMANDS = ("ExecStartPre", "ExecStart", "ExecStartPost")
COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
RUN_SCRIPT = re.compile(r"-[a-z]*c")  # sh -c, bash -ec: the next word is a script
# Who names one of these may mean any file in it.
SHARED_FOLDERS = frozenset(
    f"/{name}"
    for name in (
        *("etc/default", "etc/sysconfig", "etc/conf.d", "etc/profile.d", "etc/cron.d", "etc/sysctl.d"),
        *("usr/local/bin", "usr/local/etc", "usr/local/lib", "usr/local/sbin", "usr/local/share"),
        *("run/lock", "run/user"),
    )
)


@dataclass(frozen=True, slots=True)
class FailedUnit:
    """One unit that failed. Files are told of a service that runs once, and is there to make something."""

    name: str
    result: str
    exit_status: int
    named: tuple[str, ...] = ()  # the longest first; it may have failed for want of one
    written: frozenset[str] = frozenset()

    def path_towards(self, asked: str) -> str:
        """The file that it names and another unit asks for, or a folder above it; empty where it does not."""
        if asked in self.written:
            return asked
        return next((path for path in self.named if is_looked_at(path, (asked,))), "")


def read_failed_units(bus: SystemdBus, host: Host, rows: Sequence[Any]) -> Iterator[FailedUnit]:
    """Those of some rows of systemd's list."""
    for row in rows:
        kind = str(row[0]).rpartition(".")[2].capitalize()
        wanted = ("Result", "ExecMainStatus", "Type", *COMMANDS)
        result, status, type_, *commands = bus.properties([(row[6], kind, name) for name in wanted])
        words = [command[1] for each in commands for command in each or ()]
        named, written = _files(host, words) if type_ == "oneshot" else ((), frozenset())
        yield FailedUnit(row[0], result or "", status or 0, named, written)


def _files(host: Host, commands: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Those that the commands of a step name, and those that they write."""
    lines = "\n".join(map(shlex.join, commands))
    scripts = [word for words in commands for word in _inline_scripts(words)]
    scripts += [_script(host, place) for place in parse_scripts(lines)]
    sourced = {place for script in scripts for place in parse_sourced(script)}
    scripts += [_script(host, place) for place in sorted(sourced)]
    # What it runs or includes was there before: another that lacks it lacks it for another reason.
    before = sourced | {words[0] for words in commands if words}
    named = parse_names(COMMENT.sub("", "\n".join((lines, *scripts))))
    written = {path for words in commands for path in files_written_by(words)}
    written |= {path for script in scripts for path in files_written_in(script)}
    return tuple(paths_of(named - SHARED_FOLDERS - before)), frozenset(written - before)


def _inline_scripts(words: Sequence[str]) -> Iterator[str]:
    return (script for word, script in pairwise(words) if RUN_SCRIPT.fullmatch(word))


def _script(host: Host, place: str) -> str:
    """The text of a script; empty for a program, and for what cannot be read."""
    return host.read_regular(place, most_bytes=LARGEST_SCRIPT_BYTES).value or ""


def failure_words(result: str, exit_status: int) -> str:
    """How a service failed, in two words: exit 1, signal 9, timeout; `result` is what systemd calls it."""
    if result == "exit-code":
        # The status is that of the main command: one before it may have kept it from being run, or one
        # after it have failed.
        return f"exit {exit_status}" if exit_status else "another command than its main one"
    return f"signal {exit_status}" if result == "signal" else result
