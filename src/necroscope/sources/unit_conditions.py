"""Conditions under which systemd starts a unit: what files tell of them, and what systemd remembers.

systemd looks at one condition after the other up to the first that does not hold, tells how each turned out,
and forgets that at a daemon-reload: then it tells only whether all of them held. What files tell now stands
in for what it does not tell.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise

from necroscope.sources.host import Host

# Made anew at every boot: an image does not tell what will be there.
VOLATILE = re.compile(r"/(run|tmp|proc|sys|dev|var/run|var/tmp|var/lock)(/.*)?")
ON_FILES = ("Path", "File", "Directory")  # how the names of conditions on a file go on
NOT_LOOKED_AT = 0
Condition = tuple[str, bool, bool, str, int]  # kind, is one of several, is negated, parameter, result


def exists(host: Host, name: str) -> bool | None:
    """Whether there is such a file; None where it cannot be told."""
    status = _status(host, name)
    return None if status is None else status != 0


def _status(host: Host, name: str) -> int | None:
    """A file's mode, 0 where there is no such file, None where it cannot be told."""
    if not name.startswith("/") or (not host.is_live and VOLATILE.fullmatch(name)):
        return None
    try:
        return os.stat(host.path(name)).st_mode  # noqa: PTH116
    except PermissionError:
        return None
    except OSError:
        return 0


def failed_conditions(host: Host, settings: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Conditions that cannot hold: systemd skips the unit, and does not call that a failure."""
    return _failed(host, settings, "Condition")


def failed_assertions(host: Host, settings: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Assertions that cannot hold: the unit fails."""
    return _failed(host, settings, "Assert")


def _failed(host: Host, settings: Mapping[str, tuple[str, ...]], kind: str) -> Iterator[str]:
    """As they are written; of alternatives (`|`) only where none can hold."""
    alternatives: list[str] = []
    is_open = False
    for name, values in settings.items():
        check = name.removeprefix(f"Unit.{kind}")
        for value in values if check != name else ():
            holds = _holds(host, check, value)
            if not value.startswith("|"):
                if holds is False:
                    yield f"{kind}{check}={value} does not hold"
            else:
                alternatives.append(f"{kind}{check}={value}")
                is_open |= holds is not False
    if alternatives and not is_open:
        others = f", and none of {len(alternatives) - 1} others" if len(alternatives) > 1 else ""
        yield f"{alternatives[0]} does not hold{others}"


def _holds(host: Host, check: str, value: str) -> bool | None:
    """Whether a condition holds, and None where files do not tell."""
    name = value.lstrip("|!").strip()
    holds = None if "%" in name or not name.startswith("/") else _is_so(host, check, name)
    return holds if holds is None or "!" not in value[: value.index(name)] else not holds


def _is_so(host: Host, check: str, name: str) -> bool | None:
    if check == "PathExistsGlob":
        return _matches(host, name)
    if check == "PathIsSymbolicLink":
        return _is_link(host, name)
    status = _status(host, name)
    if status is None:
        return None
    is_file = stat.S_ISREG(status)
    answers: Mapping[str, Callable[[], bool]] = {
        "PathExists": lambda: status != 0,
        "PathIsDirectory": lambda: stat.S_ISDIR(status),
        "DirectoryNotEmpty": lambda: stat.S_ISDIR(status) and bool(host.names(name).value),
        "FileNotEmpty": lambda: is_file and host.path(name).stat().st_size > 0,
        "FileIsExecutable": lambda: is_file and bool(status & 0o111),
    }
    return answers[check]() if check in answers else None


def _is_link(host: Host, name: str) -> bool | None:
    folder, _, base = name.rstrip("/").rpartition("/")
    if _status(host, folder or "/") is None:
        return None
    return (host.path(folder or "/") / base).is_symlink()


def _matches(host: Host, pattern: str) -> bool | None:
    """Whether any file fits a pattern, going down one part at a time."""
    if not host.is_live and VOLATILE.fullmatch(pattern):
        return None
    parts = [part for part in pattern.split("/") if part]
    folders = ["/"]
    for part, following in pairwise([*parts, ""]):
        if any(letter in part for letter in "*?["):
            names = ((folder, host.names(folder).value or ()) for folder in folders)
            found = [f"{folder}/{name}" for folder, all_ in names for name in all_ if fnmatchcase(name, part)]
        else:
            found = [f"{folder}/{part}" for folder in folders]
        folders = found if following else [path for path in found if exists(host, path.replace("//", "/"))]
    return bool(folders)


@dataclass(frozen=True, slots=True)
class FileCondition:
    """One that asks for a file to be there, and does not hold."""

    text: str  # ConditionPathExists=/etc/ecs/ecs.config
    path: str


@dataclass(frozen=True, slots=True)
class StartConditions:
    """All conditions of a unit, or all its assertions."""

    has_failed: bool = False  # systemd looked at them, and did not start the unit
    lacking: tuple[tuple[FileCondition, ...], ...] = ()  # of each of these, one has to be met
    is_hopeless: bool = False  # one does not hold, or may not, that no file would meet
    is_open: bool = False  # of one that systemd did not look at, files do not tell whether it holds

    def __and__(self, other: StartConditions) -> StartConditions:
        """Both of them."""
        return StartConditions(
            self.has_failed or other.has_failed,
            self.lacking + other.lacking,
            self.is_hopeless or other.is_hopeless,
            self.is_open or other.is_open,
        )


def judge(host: Host, conditions: Sequence[Condition], looked_at: bool, held: bool) -> StartConditions:
    """What conditions say; `looked_at` and `held` are what systemd remembers of all of them together.

    One that asks for a file not to be there is a switch that somebody set.
    """
    if looked_at and held:
        return StartConditions()
    is_forgotten = looked_at and all(one[4] == NOT_LOOKED_AT for one in conditions)
    lacking, is_hopeless, is_open = [], False, False
    for group in _groups(conditions):
        states = [_held(host, one) for one in group]
        if any(states):
            continue
        if None in states:
            is_open = True
            is_hopeless |= is_forgotten  # it may be the one that failed
        elif files := tuple(_files_asked_for(group)):
            lacking.append(files)
        else:
            is_hopeless = True
    return StartConditions(looked_at, tuple(lacking), is_hopeless, is_open)


def _groups(conditions: Sequence[Condition]) -> Iterator[Sequence[Condition]]:
    """Each alone, and the alternatives (`|`) together: of a group, one has to hold."""
    yield from ([one] for one in conditions if not one[1])
    if alternatives := [one for one in conditions if one[1]]:
        yield alternatives


def _held(host: Host, condition: Condition) -> bool | None:
    """Whether it held when systemd looked, else whether it does by files; None where these do not tell."""
    kind, _, is_negated, parameter, result = condition
    if result != NOT_LOOKED_AT:
        return result > 0
    check = kind.removeprefix("Condition").removeprefix("Assert")
    return _holds(host, check, f"{'!' * is_negated}{parameter}")


def _files_asked_for(group: Sequence[Condition]) -> Iterator[FileCondition]:
    for kind, is_alternative, is_negated, parameter, _ in group:
        check = kind.removeprefix("Condition").removeprefix("Assert")
        if not is_negated and check.startswith(ON_FILES):
            yield FileCondition(f"{kind}={'|' * is_alternative}{parameter}", parameter)
