"""What is wrong with the node now, as the recorder itself finds it."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path

from necroscope.findings.active_findings import ActiveFindings
from necroscope.model.event import Event
from necroscope.model.node_state import NodeState
from necroscope.signals.thresholds import Thresholds
from necroscope.store.clock import take_anchor
from necroscope.store.segment import Moment

Take = Callable[[NodeState | None], None]
REBUILD_SECONDS = 60.0  # 96 CPUs take 3 s; a disk that hangs must not keep the node unrecorded
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


class AgentFindings:
    """Pass on every new state, and None if it cannot be known."""

    def __init__(self, thresholds: Thresholds, take: Take) -> None:
        self.state: NodeState | None = None
        self.error = ""  # why it is not known what is wrong
        self._fold = ActiveFindings(thresholds)
        self._take = take

    def set_thresholds(self, thresholds: Thresholds) -> None:
        """Judge by these from now on."""
        self._fold.set_thresholds(thresholds)

    def rebuild(self, folder: Path, boot_id: str, now_ns: int) -> list[str]:
        """Take what the recorder before this one left; return why some of it cannot be read.

        A child reads it, and hands back what is left of it: reading ten minutes of 96 CPUs would leave this
        process with 26 MB in pieces, for as long as it runs. It is forked, so there must be no threads yet.
        """
        with os.fdopen(os.memfd_create("findings"), "w+b") as result:

            def hand_back() -> None:
                _end_with_parent()  # or it would hold the store's lock for a recorder that is dead
                problems = self._fold.rebuild(folder, boot_id, now_ns)
                pickle.dump((self._fold, problems), result)
                result.flush()

            child = get_context("fork").Process(target=hand_back)
            try:
                child.start()
            except OSError:  # too many processes: then it stays
                return self._fold.rebuild(folder, boot_id, now_ns)
            child.join(REBUILD_SECONDS)
            if child.is_alive():
                child.kill()
                child.join()
                return [f"the child that read what was recorded was ended after {REBUILD_SECONDS:g} s"]
            result.seek(0)
            try:
                read: tuple[ActiveFindings, list[str]] = pickle.load(result)
            except (EOFError, pickle.UnpicklingError):
                return ["the child that read what was recorded has died"]
        self._fold, problems = read
        return problems

    def observe(self, moment: Moment, events: Sequence[Event], userspace_lines: Sequence[Event]) -> None:
        """Take a moment and what happened in it. A mistake in it must not end the recording."""
        try:
            if not self._fold.feed(moment, events, userspace_lines):
                return
            self.state, self.error = self._fold.examine(take_anchor().offset_ns), ""
        except Exception as error:  # noqa: BLE001 - counters and samples go on
            self.state, self.error = None, f"{type(error).__name__}: {error}"
        self._take(self.state)


def _end_with_parent() -> None:
    import ctypes  # only the child has its memory

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
