"""Record a stretch of time into the store for a comparison, unless a recorder does so already."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from necroscope.agent.agent import Agent, Orders
from necroscope.agent.stop_signals import signals
from necroscope.cli.screen import note
from necroscope.cli.watching import stopping
from necroscope.errors import (
    CannotLookError,
    NecroscopeError,
    StoreError,
    StoreHeldError,
    UntrustedFolderError,
)
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS, compact_utc
from necroscope.remedies.verify.windows import recorded_seconds
from necroscope.sources.host import Host
from necroscope.store.config import LONGEST_SEGMENT, load_record_settings
from necroscope.store.lock import held
from necroscope.store.sampler import Progress
from necroscope.store.store import Store, StoredSegment, read_segment
from necroscope.store.store_place import host_name

ENOUGH_SECONDS = 0.5  # missing: seconds are whole ones of the wall clock
SILENT_SECONDS = 10.0  # after which the recorder that we wait for may have ended
LOOK_EVERY_SECONDS = 1.0
FOR_EVER_NS = 2**62


@dataclass(frozen=True, slots=True)
class Wanted:
    """So many recorded seconds after a moment."""

    begin_ns: int  # UTC
    seconds: float
    most_silent_rounds: int = 6  # of a recorder that runs and writes nothing


def record_baseline(host: Host, store: Path, seconds: float, progress: Progress) -> None:
    """Have so many seconds before now in the store. Ctrl-C is raised again when what there is, is kept."""
    wanted = Wanted(time.time_ns() - int(seconds * SECOND_NS), seconds, most_silent_rounds=1)
    try:
        is_done = have_recorded(host, store, wanted, progress)
    # A flight recorder has it in memory, or the store is not root's: no reason not to go on.
    except (CannotLookError, UntrustedFolderError) as error:
        note(f"no baseline was recorded, so `verify` may have nothing to compare with: {error.what}")
        return
    if not is_done:
        raise KeyboardInterrupt


def have_recorded(host: Host, store: Path, wanted: Wanted, progress: Progress) -> bool:
    """Wait until what is wanted is in the store; False where Ctrl-C ended that.

    What is there already counts. A recorder that runs is waited for; where none does, we record ourselves.
    Raises CannotLookError where the one that runs writes nothing.
    """
    folder = Store(store).host_folder(host_name(host))
    if not _wait_for(wanted.begin_ns):
        return False
    recorded, silent_rounds = _recorded(folder, wanted), 0
    while wanted.seconds - recorded > ENOUGH_SECONDS:
        shown = _from(progress, wanted.seconds, recorded)
        try:
            is_done = record_here(host, store, wanted.seconds - recorded, shown)
        except StoreHeldError:
            is_done = _watch(folder, wanted, progress)
        if not is_done:
            return False
        before, recorded = recorded, _recorded(folder, wanted)
        silent_rounds = silent_rounds + 1 if recorded <= before else 0
        if silent_rounds == wanted.most_silent_rounds:
            what = f"nothing has been written to {folder} for a while, though a recorder holds it"
            raise CannotLookError(what, hint="a flight recorder writes at events only; or its disk is full")
    return True


def record_here(host: Host, store: Path, seconds: float, progress: Progress) -> bool:
    """Record as `record` does, without samples; False where Ctrl-C ended it. What there is, is kept.

    Raises StoreHeldError where a recorder runs.
    """
    folder = Store(store).host_folder(host_name(host))
    orders = Orders(
        host=host,
        store=store,
        config=None,
        settings=lambda: load_record_settings(None, {"rate": 0, "listen": ""}),
        seconds=seconds,
        flight=False,
        keep_capture=False,
        perf="perf",
        say=lambda _: None,
    )
    with signals() as asked, held(folder):
        agent = Agent(orders, folder, asked)  # it forks, and the progress bar is a thread
        with _ticking(seconds, progress):
            status = agent.run()
    if status.store_error:
        raise StoreError(f"what was measured cannot be kept: {status.store_error}")
    return not asked.was_stopped


def _wait_for(begin_ns: int) -> bool:
    """Let a moment come: what is read only at the beginning of a recording must not be read before it."""
    with stopping() as stop:
        return not stop.wait(max(begin_ns - time.time_ns(), 0) / 1e9)


def _watch(folder: Path, wanted: Wanted, progress: Progress) -> bool:
    """Wait for what another recorder writes, until there is enough of it or it falls silent."""
    total = int(wanted.seconds)
    recorded, grown_at = _recorded(folder, wanted), time.monotonic()
    try:
        with stopping() as stop:
            while wanted.seconds - recorded > ENOUGH_SECONDS and time.monotonic() - grown_at < SILENT_SECONDS:
                progress(int(recorded), total)
                if stop.wait(LOOK_EVERY_SECONDS):
                    return False
                now = _recorded(folder, wanted)
                if now > recorded:
                    recorded, grown_at = now, time.monotonic()
    finally:
        progress(total, total)
    return True


def _recorded(folder: Path, wanted: Wanted) -> float:
    return recorded_seconds(_segments_since(folder, wanted.begin_ns), TimeRange(wanted.begin_ns, FOR_EVER_NS))


def _segments_since(folder: Path, begin_ns: int) -> list[StoredSegment]:
    """The segments of a host from a moment on, by their names: a store may have thousands."""
    first = compact_utc(begin_ns - int(LONGEST_SEGMENT) * SECOND_NS)
    found = []
    for path in sorted(folder.glob("[0-9]*")):
        if path.name >= first:
            try:
                found.append(read_segment(path))
            except NecroscopeError:  # being made, or damaged: `verify` says so in the end
                continue
    return [segment for segment in found if segment.boot_id]


def _from(progress: Progress, total: float, before: float) -> Progress:
    """The progress of a part, told as that of the whole."""
    whole = round(total)
    return lambda done, part: progress(whole if done >= part else min(int(before) + done, whole - 1), whole)


@contextmanager
def _ticking(seconds: float, progress: Callable[[int, int], None]) -> Iterator[None]:
    """Show every second how much is done; the bar goes away in the end."""
    total = max(round(seconds), 1)
    end = threading.Event()

    def tick() -> None:
        begin = time.monotonic()
        while not end.wait(1.0):
            progress(min(int(time.monotonic() - begin), total - 1), total)

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
        progress(total, total)
