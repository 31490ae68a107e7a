"""Conditions under which systemd starts a unit, as far as files tell whether they hold."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import pairwise

from necroscope.sources.host import Host

# Made anew at every boot: an image does not tell what will be there.
VOLATILE = re.compile(r"/(run|tmp|proc|sys|dev|var/run|var/tmp|var/lock)(/.*)?")


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
