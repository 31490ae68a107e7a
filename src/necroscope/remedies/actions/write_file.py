"""Write a file whole or not at all, and put back exactly what was there.

Target   the path, as the machine calls it; never a link
Value    the text
"""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from necroscope.errors import ChangeError
from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.remedies.actions.action import Action
from necroscope.remedies.actions.files import (
    drop_name,
    make_folders,
    missing_folders,
    place_of,
    reload_for,
    remove_folders,
)
from necroscope.remedies.actions.record_rules import (
    FOLDERS_MADE,
    why_not_folders_made,
    why_not_kept,
    why_not_own_file,
    why_other_keys,
)
from necroscope.remedies.actions.systemd import ask
from necroscope.sources.host import Host
from necroscope.sources.plain_files import read_plain
from necroscope.sources.systemd.unit_activity import list_activity
from necroscope.sources.systemd.unit_tree import is_searched
from necroscope.store.durable import remove_partials, sync_folder, write_durably

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

NEW_MODE = 0o644
MAX_BYTES = 1 << 20  # of a file that is kept in a record; drop-ins have some hundred


def _look(host: Host, step: Step) -> State:
    place = place_of(host, step.target)
    folders = "\n".join(missing_folders(host, step.target))
    status = _status(place, step.target)
    if status is None:
        return {"existed": "no", FOLDERS_MADE: folders}
    return {
        "existed": "yes",
        **_kept(read_plain(place, MAX_BYTES)),
        "mode": f"{stat.S_IMODE(status.st_mode):04o}",
        "owner": f"{status.st_uid}:{status.st_gid}",
        FOLDERS_MADE: folders,
    }


def _kept(data: bytes) -> State:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _status(place: Path, name: str) -> os.stat_result | None:
    """What is there; None for nothing. Only a plain file is ours to replace."""
    try:
        status = place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode):
        raise ChangeError(f"{name} is no plain file, and is left alone")
    return status


def _bytes_there(host: Host, step: Step) -> bytes | None:
    place = place_of(host, step.target)
    return None if _status(place, step.target) is None else read_plain(place, MAX_BYTES)


def _do(host: Host, step: Step) -> str:
    place = place_of(host, step.target)
    status = _status(place, step.target)
    if _bytes_there(host, step) != step.value.encode():
        make_folders(host, step.target)
        remove_partials(place)  # left by a crash
        mode = stat.S_IMODE(status.st_mode) if status else NEW_MODE
        _put(place, step.value.encode(), mode, (status.st_uid, status.st_gid) if status else None)
    reload_for(host, step.target)
    return f"wrote {step.target}"


def _put(place: Path, data: bytes, mode: int, owner: tuple[int, int] | None) -> None:
    write_durably(place, data, mode=mode, owner=owner)
    sync_folder(place.parent)


def _check(host: Host, step: Step) -> str:
    if _bytes_there(host, step) != step.value.encode():
        return f"{step.target} does not say what was written"
    return why_not_loaded(host, step.target)


def _undo(host: Host, step: Step, before: State) -> None:
    place = place_of(host, step.target)
    there = _bytes_there(host, step)
    if there not in (None, step.value.encode(), _bytes_before(before)):
        raise ChangeError(
            f"{step.target} was changed by somebody else since", hint="look at it, and remove or restore it"
        )
    if place.parent.is_dir():
        remove_partials(place)  # left by a crash
    if before["existed"] == "yes":
        uid, gid = map(int, before["owner"].split(":"))
        _put(place, _bytes_before(before) or b"", int(before["mode"], 8), (uid, gid))
    elif there is not None:
        drop_name(place)
    remove_folders(host, tuple(before[FOLDERS_MADE].splitlines()))
    reload_for(host, step.target)


def _bytes_before(before: State) -> bytes | None:
    if before["existed"] == "no":
        return None
    return before["text"].encode() if "text" in before else base64.b64decode(before["base64"])


def _check_undone(host: Host, step: Step, before: State) -> str:
    if _bytes_there(host, step) == _bytes_before(before):
        return ""
    return (
        f"{step.target} is not as it was" if before["existed"] == "yes" else f"{step.target} is still there"
    )


def _why_not_ours(host: Host, step: Step, before: State) -> str:
    """Only drop-ins and presets of ours, and before them nothing, or a text file of root's like them."""
    existed = before.get("existed") == "yes"
    if not existed and before.get("existed") != "no":
        return "whether there was a file before is not said"
    keys = ("existed", FOLDERS_MADE, *(("text", "mode", "owner") if existed else ()))
    return (
        why_not_own_file(host, step.target)
        or why_other_keys(before, keys)
        or why_not_folders_made(step.target, before)
        or (why_not_kept(host, before["mode"], before["owner"]) if existed else "")
    )


WRITE_FILE = Action("write-file", _look, _do, _check, _undo, _check_undone, _why_not_ours)


def why_not_loaded(host: Host, name: str) -> str:
    """Why a drop-in is not in force, in words; empty where it is, or where nobody has loaded its unit."""
    if not host.is_live or not is_searched(name):
        return ""
    unit = name.split("/")[-2].removesuffix(".d")

    def look(bus: SystemdBus) -> str:
        loaded = list_activity(bus).get(unit)
        if loaded is None or loaded.load_state in ("masked", "not-found"):
            return ""
        keys = ("DropInPaths", "NeedDaemonReload")
        drop_ins, is_old = bus.properties([(loaded.path, "Unit", key) for key in keys])
        if name not in (drop_ins or ()):
            return f"systemd does not apply {name} to {unit}"
        return f"the files of {unit} have changed again, and systemd has not loaded them" if is_old else ""

    return ask(host, look)
