"""What a record of a fix may say: names, modes and owners that an action can have met on this host.

A record is acted on by root, so nothing in it is believed because it is there. Each function returns why
something may not be, in words that continue "step 2: "; empty if it may.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection
from pathlib import Path

from necroscope.errors import UntrustedFolderError
from necroscope.model.fix import State
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_names import parse_unit_name
from necroscope.sources.systemd.unit_tree import PERSISTENT, PRESETS, RUNTIME, is_searched, resolve
from necroscope.store.trusted_folder import open_trusted, why_writable

FOLDERS_MADE = "folders made"
MARK = "necroscope"  # in the name of every file that our remedies write
MAX_NAME = 4096
MAX_ID = 2**32 - 2
_UNIT_FOLDER = rf"(?:{re.escape(PERSISTENT)}|{re.escape(RUNTIME)})"
_DROP_IN = re.compile(rf"{_UNIT_FOLDER}/([^/]+)\.d/[^/]+\.conf")
_PRESET = re.compile(rf"{re.escape(PRESETS)}/[^/]+\.preset")
_LINK = re.compile(rf"{_UNIT_FOLDER}(?:/([^/]+)\.(?:wants|requires|upholds))?/([^/]+)")
_MODE = re.compile(r"0[0-7]{3}")
_OWNER = re.compile(r"(\d{1,10}):(\d{1,10})")


def why_not_unit(name: str) -> str:
    """Why a name is not that of a unit which can run."""
    parts = parse_unit_name(name)
    return f"{name[:80]!r} is not the name of a unit" if parts is None or parts.is_template else ""


def why_not_live(host: Host) -> str:
    """Why nothing of this kind can be done: nothing runs in an image."""
    return "" if host.is_live else "nothing runs in an image"


def why_not_own_file(host: Host, path: str) -> str:
    """Why a path is not that of a drop-in or preset of ours, or does not lead there."""
    drop_in = _DROP_IN.fullmatch(path)
    is_preset = _PRESET.fullmatch(path) and not host.is_live
    is_ours = MARK in path.rpartition("/")[2] and (is_preset or (drop_in and parse_unit_name(drop_in[1])))
    if not is_ours:
        return "no remedy writes this file"
    return why_not_led(host, path)


def why_not_led(host: Host, path: str) -> str:
    """Why a path is not a plain one, or its folder, where there are links, is another than it says."""
    parts = path.split("/")
    if (
        parts[0]
        or not {"", ".", ".."}.isdisjoint(parts[1:])
        or not path.isprintable()
        or len(path) > MAX_NAME
    ):
        return f"{path[:80]!r} is not a whole path"
    folder = path.rpartition("/")[0] or "/"
    try:
        led = resolve(host, folder)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return "" if led == folder else f"{folder} leads to {led}"


def why_not_folders_made(path: str, before: State) -> str:
    """Why folders cannot have been made on the way to a path."""
    parents = {str(parent) for parent in Path(path).parents} - {"/"}
    strange = [one for one in before.get(FOLDERS_MADE, "/").splitlines() if one not in parents]
    return f"no folder was made there: {strange[0][:80]!r}" if strange else ""


def why_not_kept(host: Host, mode: str, owner: str) -> str:
    """Why a file of systemd's configuration cannot have had this mode and this owner."""
    if not _MODE.fullmatch(mode):
        return f"mode {mode[:20]!r}: no such file is setuid, setgid or sticky"
    if why := why_not_owner(host, owner):
        return why
    others = stat.S_IWOTH | (0 if owner.endswith(":0") else stat.S_IWGRP)
    return f"mode {mode}: others could write to it" if int(mode, 8) & others else ""


def why_not_owner(host: Host, owner: str) -> str:
    """Why none of systemd's files and links can have had this owner: it is not root's."""
    ids = _OWNER.fullmatch(owner)
    if ids is None or max(map(int, ids.groups())) > MAX_ID or int(ids[1]) not in _owners(host):
        return f"owner {owner[:40]!r}: it is not root's"
    return ""


def why_not_unit_link(host: Host, path: str, text: str) -> str:
    """Why a link of this text does not make systemd start a unit, or is not one that root relies on."""
    place = _LINK.fullmatch(path)
    whole = os.path.normpath(f"{path.rpartition('/')[0]}/{text}" if text[:1] != "/" else text)
    names = (path.rpartition("/")[2], whole.rpartition("/")[2])
    units = [parts for name in names if (parts := parse_unit_name(name))]
    if place is None or len(units) < len(names) or units[0].type != units[1].type:
        return f"{path[:80]!r} -> {text[:80]!r} is not a link that enables a unit"
    if not text.isprintable() or (place[1] and parse_unit_name(place[1]) is None):
        return f"{path[:80]!r} -> {text[:80]!r} is not a link that systemd reads"
    # Of a link in a .wants folder, only the name counts; any other is read as the unit's file.
    is_read = place[1] is None and not is_searched(whole)
    return why_not_led(host, path) or (_why_not_roots(host, whole) if is_read else "")


def why_other_keys(before: State, keys: Collection[str]) -> str:
    """Why a state is not one of this kind: it says more or less."""
    return "" if set(before) == set(keys) else "the state before it is not one that we record"


def _owners(host: Host) -> Collection[int]:
    """Return who may own what root relies on; for another user, also who made the image."""
    return {0} if os.geteuid() == 0 else {0, os.geteuid(), host.root.stat().st_uid}


def _why_not_roots(host: Host, name: str) -> str:
    """Why others than root could write a unit file that lies outside of systemd's folders."""
    if why := why_not_led(host, name):  # whoever owns a link on the way could lead it elsewhere
        return f"systemd would read {name}, and {why}"
    owners = _owners(host)
    place = host.root / name.lstrip("/")
    try:
        folder = open_trusted(place.parent, root=host.root, owners=owners)
        try:
            status = os.lstat(place.name, dir_fd=folder)
        finally:
            os.close(folder)
    except UntrustedFolderError as error:
        return f"systemd would read {name}, and {error.what}"
    except OSError as error:
        return f"systemd would read {name}: {error}"
    if not stat.S_ISREG(status.st_mode) or status.st_uid not in owners:
        return f"systemd would read {name}, which is not a file of root's"
    why = why_writable(status)
    return f"systemd would read {name}, {why}" if why else ""
