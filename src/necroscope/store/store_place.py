"""Where recordings are kept unless somebody says otherwise, and what to say where they cannot be got at."""

from __future__ import annotations

import grp
import os
import platform
import stat
from pathlib import Path

from necroscope.errors import CannotLookError, StoreError
from necroscope.model.shell_command import shell_command
from necroscope.sources.host import Host

SYSTEM_STORE = Path("/var/lib/necroscope")


def default_store() -> Path:
    """/var/lib/necroscope for root, else a folder of the user's own; StoreError where there is no home."""
    if os.geteuid() == 0:
        return SYSTEM_STORE
    if state := os.environ.get("XDG_STATE_HOME"):
        return Path(state) / "necroscope"
    try:
        return Path.home() / ".local/state/necroscope"
    except RuntimeError as error:  # neither HOME nor an entry in /etc/passwd
        hint = "--store names a folder, or HOME does"
        raise StoreError("this user has no home folder where recordings could be", hint=hint) from error


def host_name(host: Host) -> str:
    """The name under which a host's segments are kept."""
    return host.name() or platform.node()


def store_of_root(store: Path) -> Path | None:
    """Where the recordings of the service are, for a user who looked into the own store only."""
    if os.geteuid() == 0 or store == SYSTEM_STORE:
        return None
    try:
        return SYSTEM_STORE if store == default_store() and SYSTEM_STORE.is_dir() else None
    except (OSError, StoreError):
        return None


def warning_about(store: Path) -> str:
    """Return a warning about a store of ours that every user can read; empty if there is nothing to say."""
    try:
        status = store.stat()
    except OSError:
        return ""
    is_ours = os.geteuid() in (0, status.st_uid)
    if not is_ours or not status.st_mode & (stat.S_IROTH | stat.S_IXOTH):
        return ""
    mode = f"{stat.S_IMODE(status.st_mode):04o}"
    why = "a recording has kernel addresses and the kernel log"
    command = shell_command(["chmod", "-R", "o="], [str(store)])
    return f"every user can read {store} (mode {mode}), and {why}: {command}"


def not_permitted(path: Path) -> CannotLookError:
    """The error of a file or folder that this user may not read, and who may."""
    hint = "run it as root"
    try:
        status = path.stat()
        if status.st_mode & stat.S_IRGRP and status.st_gid:
            hint += f", or as a member of the group {grp.getgrgid(status.st_gid).gr_name} that owns it"
        else:
            hint += ", or let a group of yours own it and read it"
    except (OSError, KeyError):  # the group has no name, or a folder above may not be entered
        hint += ", or join the group that owns it"
    return CannotLookError(f"not permitted to read {path}", hint=hint)
