"""How the machine differs from what it was before a run, and whether the run must answer for it.

It must for what has a name of the lab (or lies in the run's folder), for the processes it started, and for
all settings, because no program changes those by itself. It need not for objects with other names: on a
machine that works, sessions begin and end, and mounts come and go. Those are reported, and fail nothing.
A name of the lab that a living process carries which is surely somebody else's is somebody else's too.

What is being freed is waited for: zombies for a minute, all else for some seconds.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

from lab.running.machine_state import MachineState, read_machine_state
from lab.running.processes import LAB_NAME, Process, is_of_run, lab_names_in_use, others_than_run

LAB_MADE = re.compile(r"necroscope|(?<![\w-])lab[-_\d]|\(\w+ lab\)")
MOST_OTHERS = 10
ZOMBIES_ALLOWED = 50  # the kernel's own caches hold some for a while
CLOCK_SECONDS = 0.5
ENDING_SECONDS = 15.0
FREEING_SECONDS = 60.0
BRIEF_SECONDS = 10.0  # others start and end what lives shorter all the time
LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Differences:
    """In words. What is `left` belongs to the run, `zombies` too; `others` perhaps to somebody else."""

    left: tuple[str, ...] = ()
    zombies: str = ""
    others: tuple[str, ...] = ()

    @property
    def all_left(self) -> tuple[str, ...]:
        """All that the run must answer for."""
        return (*self.left, self.zombies) if self.zombies else self.left


@dataclass(frozen=True, slots=True)
class Before:
    """The machine before a run, and how to know the run's processes."""

    state: MachineState
    mark: str
    folder: Path

    def differences(self, after: MachineState) -> Differences:
        """What differs now."""
        found = [*self._processes(after), *self._objects(after), *self._settings(after), *self._clock(after)]
        left = tuple(sorted(words for is_left, words in found if is_left))
        others = sorted(words for is_left, words in found if not is_left)
        if len(others) > MOST_OTHERS:
            others = [*others[:MOST_OTHERS], f"and {len(others) - MOST_OTHERS} more"]
        return Differences(left, self._zombies(after), tuple(others))

    def settled(self, is_hurried: Callable[[], bool] = lambda: False) -> Differences:
        """The differences once what ends by itself has ended; at once if somebody is in a hurry."""
        began = time.monotonic()
        while True:
            found = self.differences(read_machine_state())
            waited = time.monotonic() - began
            must_wait = (bool(found.left) and waited < ENDING_SECONDS) or (
                bool(found.zombies) and waited < FREEING_SECONDS
            )
            if is_hurried():
                return found
            if not must_wait:
                return self._seen_again(found)
            time.sleep(LOOK_SECONDS)

    def _seen_again(self, found: Differences) -> Differences:
        """Without what others made or removed just when it was looked at: that is not there any more."""
        if not found.left:
            return found
        time.sleep(LOOK_SECONDS)
        again = self.differences(read_machine_state()).left
        return replace(found, left=tuple(words for words in found.left if words in again))

    def _processes(self, after: MachineState) -> Iterator[tuple[bool, str]]:
        earlier = {one.key for one in self.state.processes.values()}
        later = {one.key for one in after.processes.values()}
        for one in after.processes.values():
            if one.key not in earlier:
                is_left = self._is_of_run(one, after) or one.comm.startswith("napi/lab")
                if is_left or after.age_seconds(one) > BRIEF_SECONDS:
                    yield is_left, f"still there: {one}"
        for one in self.state.processes.values():
            if one.key not in later and self.state.age_seconds(one) > BRIEF_SECONDS and one.command:
                yield False, f"gone: {one}"

    def _objects(self, after: MachineState) -> Iterator[tuple[bool, str]]:
        names = lab_names_in_use(others_than_run(self.state.processes, after.processes, self.mark))
        for words in outermost(after.objects - self.state.objects):
            is_made = bool(LAB_MADE.search(words)) or str(self.folder) in words
            yield is_made and not names & {*LAB_NAME.findall(words)}, f"still there: {words}"
        for words in outermost(self.state.objects - after.objects):
            yield False, f"gone: {words}"

    def _settings(self, after: MachineState) -> Iterator[tuple[bool, str]]:
        balanced = any(one.comm == "irqbalance" for one in after.processes.values())
        for name in self.state.settings.keys() | after.settings.keys():
            was, now = self.state.settings.get(name), after.settings.get(name)
            if was != now:
                yield not (balanced and "interrupt" in name), _changed(name, was, now)

    def _clock(self, after: MachineState) -> Iterator[tuple[bool, str]]:
        seconds = after.clock_offset_seconds - self.state.clock_offset_seconds
        if abs(seconds) > CLOCK_SECONDS:
            yield True, f"the wall clock was set by {seconds:+.1f} s"

    def _zombies(self, after: MachineState) -> str:
        was, now = self.state.zombies or 0, after.zombies or 0
        return f"zombie cgroups: {was:,} before, {now:,} now" if now > was + ZOMBIES_ALLOWED else ""

    def _is_of_run(self, one: Process, after: MachineState) -> bool:
        return is_of_run(one, after.processes, self.mark, self.folder)


def outermost(objects: AbstractSet[str]) -> list[str]:
    """A cgroup stands for those in it."""
    return [words for words in objects if words.rpartition("/")[0] not in objects]


def _changed(name: str, was: str | None, now: str | None) -> str:
    if was is None:
        return f"still there: {name}"
    if now is None:
        return f"gone: {name}"
    is_long = len(was) + len(now) > 100 or "\n" in was + now
    return f"changed: {name}" if is_long else f"changed: {name}: {was} before, {now} now"
