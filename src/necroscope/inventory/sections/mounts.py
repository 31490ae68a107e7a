"""What is mounted where, and how; and what /etc/fstab says.

Reads    /proc/self/mountinfo (/proc/1/mountinfo of another root), /etc/fstab
Needs    nothing
Costs    two reads: 0.5 ms with 21 mounts

What containers, sessions and snaps bring and take is left out, and so are devices and addresses. Sizes that
the kernel has computed from the memory are rounded. All that is `rules/volatile.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from necroscope.inventory.redaction.redact import redact_text
from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.inventory.sections.volatile import rounded, volatile_rules
from necroscope.model.reading import Reading
from necroscope.sources.host import Host, whole_lines

OCTAL = re.compile(r"\\([0-7]{3})")
SIZE = re.compile(r"(size|nr_inodes|nr_blocks)=(\d+)(\w?)")


@dataclass(frozen=True, slots=True)
class Mount:
    """One mounted file system."""

    target: str
    kind: str
    options: tuple[str, ...]  # of the mount, then those of the file system


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """All lines of a mountinfo file."""
    mounts = []
    for line in whole_lines(text):
        before, separator, after = line.partition(" - ")
        if not separator:
            raise ValueError("a mountinfo line without its separator")
        fields = before.split(" ")
        kind, _, options = after.split(" ", 2)
        both = dict.fromkeys([*fields[5].split(","), *options.split(",")])
        # The file system may be writable where the mount is not: the mount counts.
        if "ro" in fields[5].split(","):
            both.pop("rw", None)
        mounts.append(Mount(_plain(fields[4]), kind, tuple(both)))
    return tuple(mounts)


def parse_fstab(text: str) -> tuple[Mount, ...]:
    """The lines of an fstab that say what to mount where; swaps, which have no place, are left out."""
    rows = [line.split() for line in text.splitlines() if not line.lstrip().startswith("#")]
    return tuple(
        Mount(_plain(row[1]), row[2], tuple((row[3] if len(row) > 3 else "defaults").split(",")))
        for row in rows
        if len(row) > 2 and row[1].startswith("/")
    )


def read_mountinfo(host: Host) -> Reading[tuple[Mount, ...]]:
    """All mounts of the machine, as its first process has them where it is not ours."""
    own = "/proc/self/mountinfo" if host.is_own else "/proc/1/mountinfo"
    return host.read(own, errors="replace").parsed(parse_mounts)


def read_mounts(subject: Subject) -> Reading[Facts]:
    """TARGET = type and options of what is mounted; `fstab TARGET` = the same from /etc/fstab."""
    gathered = Gathered()
    mounts = read_mountinfo(subject.host)
    if mounts.value is None:
        gathered.say(f"what is mounted: {mounts.reason if subject.host.is_live else 'not running'}")
    automounts = [mount.target for mount in mounts.value or () if mount.kind == "autofs"]
    for mount in mounts.value or ():
        if not _is_left_out(mount, automounts):
            gathered.add(mount.target, _how(mount.kind, normal_options(mount)))
    fstab = subject.host.read("/etc/fstab", errors="replace").parsed(parse_fstab)
    gathered.miss(fstab)
    for mount in fstab.value or ():
        gathered.add(f"fstab {mount.target}", _how(mount.kind, mount.options))
    return gathered.reading("no list of mounts and no /etc/fstab")


def normal_options(mount: Mount) -> Iterable[str]:
    """The options that are settings; what moves by itself is left out or rounded."""
    dropped = volatile_rules()["mounts"]["options"]
    for option in mount.options:
        if any(fnmatchcase(option, pattern) for pattern in dropped):
            continue
        size = SIZE.fullmatch(option)
        yield f"{size[1]}={rounded(size[2])}{size[3]}" if size else option


def _how(kind: str, options: Iterable[str]) -> str:
    # One by one, so that a secret in one does not take the others with it.
    return f"{kind} {','.join(map(redact_text, options))}"


def _is_left_out(mount: Mount, automounts: Iterable[str]) -> bool:
    rules = volatile_rules()["mounts"]
    return (
        mount.kind in rules["kinds"]
        or any(fnmatchcase(mount.target, glob) for glob in rules["targets"])
        or any(f"{mount.target}/".startswith(f"{automount}/") for automount in automounts)
    )


def _plain(text: str) -> str:
    """Blanks and backslashes are written as octal numbers."""
    return OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
