"""What a run leaves that was killed (kill -9) and could undo nothing: found by the next run, and removed.

A run notes in a file what there was before it. The file of a runner that is gone tells what came since: the
processes with its mark are ended, and empty cgroups and temporary folders with a name of the lab are removed,
unless a living process has that name. What else has such a name (a mount, a link) is only named: removing it
could do harm. While another run or a test session is at work, nothing is removed, because what came since may
be theirs: the note stays for a later run. After a reboot there is nothing left but folders.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lab.running.differences import LAB_MADE, Before, outermost
from lab.running.machine_state import NOTE, read_machine_state
from lab.running.processes import (
    DEAD,
    LAB_NAME,
    Process,
    ancestors,
    is_alive,
    lab_names_in_use,
    mark_of,
    read_process,
    read_processes,
)
from lab.running.run_folder import has_mounts

NOTES = Path("/tmp")
OWN_FOLDER = re.compile(r"file (/(?:tmp|var/tmp|dev/shm)/(?:lab|necroscope-lab|necroscope-guest)-[\w.-]+)")
CGROUP = re.compile(r"cgroup (/\S+)")
ENDING_SECONDS = 10.0


@contextmanager
def noted(before: Before) -> Iterator[None]:
    """A note of what there was, for as long as a run lasts."""
    path = NOTES / f"{NOTE}{before.mark}.json"
    part = path.with_suffix(".part")  # renamed when whole: whoever finds the note can read it
    try:
        part.write_text(json.dumps(sorted(before.state.objects)))
        part.rename(path)
        yield
    finally:
        for one in (part, path):
            one.unlink(missing_ok=True)


def clean_after_killed_runs(tell: Callable[[str], None]) -> None:
    """Remove what can be removed, and name what cannot."""
    marks = {_mark_in(path): path for path in NOTES.glob(f"{NOTE}*.json") if _is_ours(path)}
    dead = [mark for mark in marks if not is_alive(mark)]
    others = _others_at_work(len(marks) - len(dead)) if dead else ""
    for mark in dead:
        tell("a run was killed before it could undo what it made")
        _end_processes(mark, tell)
        there_before = _read_note(marks[mark])
        if there_before is None:
            tell("  what there was before it is not known: nothing is removed")
        else:
            _remove_objects(there_before, others, tell)
        if not others:
            marks[mark].unlink(missing_ok=True)


def _mark_in(note: Path) -> str:
    return note.stem.removeprefix(NOTE)


def _is_ours(note: Path) -> bool:
    with suppress(OSError):  # a run that ends removes its own
        return note.lstat().st_uid == os.geteuid()
    return False


def _read_note(note: Path) -> set[str] | None:
    """What there was before the run; None of a note that cannot be read."""
    try:
        return {str(words) for words in json.loads(note.read_text())}
    except (OSError, ValueError, TypeError):
        return None


def _others_at_work(living_runs: int) -> str:
    """Who else may be making things with names of the lab: other runs, and tests, which leave no note."""
    if living_runs:
        return "another run is at work"
    processes = read_processes()
    ours = {one.pid for one in ancestors(os.getpid(), processes)}
    tests = any("pytest" in one.command and one.pid not in ours for one in processes.values())
    return "tests are at work" if tests else ""


def _end_processes(mark: str, tell: Callable[[str], None]) -> None:
    left = {pid: one for pid, one in read_processes().items() if mark_of(pid) == mark}
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + ENDING_SECONDS
        for pid, one in left.items():
            tell(f"  {number.name} to {one}")
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        while left and time.monotonic() < deadline:
            left = {pid: one for pid, one in left.items() if _still_runs(one)}
            time.sleep(0.05)


def _still_runs(one: Process) -> bool:
    now = read_process(one.pid)
    return now is not None and now.key == one.key and now.state != DEAD


def _remove_objects(there_before: set[str], others: str, tell: Callable[[str], None]) -> None:
    state = read_machine_state()
    in_use = lab_names_in_use(state.processes)
    made = {words for words in state.objects - there_before if LAB_MADE.search(words)}
    told = outermost(made)
    for words in sorted(made, key=len, reverse=True):  # the innermost first
        if not in_use & {*LAB_NAME.findall(words)}:
            said = f"left for now ({others})" if others else _removed_or_not(words)
            if words in told:
                tell(f"  {said}: {words}")


def _removed_or_not(words: str) -> str:
    try:
        return "removed" if _remove(words) else "please remove"
    except OSError as error:
        return f"please remove ({error.strerror})"


def _remove(words: str) -> bool:
    if cgroup := CGROUP.fullmatch(words):
        Path(cgroup[1]).rmdir()
    elif (folder := OWN_FOLDER.fullmatch(words)) and not has_mounts(Path(folder[1])):
        path = Path(folder[1])
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    else:
        return False
    return True
