"""What is told, and on a terminal below it what the machine does right now, redrawn every second.

Off a terminal there are only the told lines, each with the seconds since the beginning.

Costs    on a terminal, a read of /proc/stat and of the cgroup counts a second, and the scenario's own gauges
"""

from __future__ import annotations

import os
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from lab.running.live_lines import core_line, loads, value_line
from lab.running.machine_state import read_zombies
from lab.running.stage import Stage
from necroscope.sources.cores import Cores, open_cores
from necroscope.sources.host import Host

REDRAW_SECONDS = 1.0
ERASE_LINE, UP = "\x1b[2K", "\x1b[1A"
INDENT = " " * 8


@dataclass(slots=True)
class LiveView:
    """Lines that stay, and below them lines that are drawn again."""

    descriptor: int
    is_terminal: bool
    began: float = field(default_factory=time.monotonic)
    drawn: tuple[str, ...] = ()
    # Reentrant: a handler of signals tells something in the thread that may be telling.
    lock: threading.RLock = field(default_factory=threading.RLock)

    def tell(self, line: str) -> None:
        """Print a line that stays."""
        text = f"{time.monotonic() - self.began:5.0f} s {line}"
        if self.is_terminal:
            text = "\n".join(textwrap.wrap(text, self.columns, subsequent_indent=INDENT)) or text
        with self.lock:
            self._write(f"{self._erased()}{text}\n{_joined(self.drawn)}")

    def draw(self, lines: tuple[str, ...]) -> None:
        """Draw the lines below again."""
        with self.lock:
            erased, self.drawn = self._erased(), lines
            self._write(f"{erased}{_joined(lines)}")

    @property
    def columns(self) -> int:
        """The width of the terminal; 80 of one that has gone."""
        with suppress(OSError):
            return os.get_terminal_size(self.descriptor).columns or 80
        return 80

    def _erased(self) -> str:
        return f"\r{ERASE_LINE}" + f"{UP}{ERASE_LINE}" * len(self.drawn) if self.is_terminal else ""

    def _write(self, text: str) -> None:
        # Not by print, which cannot be entered twice by one thread. A reader that has gone (a terminal that
        # was closed, `| head`) is no reason to stop: whoever tells something may be undoing.
        rest = text.encode()
        with suppress(OSError):
            while rest:
                rest = rest[os.write(self.descriptor, rest) :]


@contextmanager
def live_view(descriptor: int) -> Iterator[LiveView]:
    """A view; on a terminal its last lines are erased in the end."""
    view = LiveView(descriptor, os.isatty(descriptor))
    try:
        yield view
    finally:
        if view.is_terminal:
            view.draw(())


@contextmanager
def watched(view: LiveView, stage: Stage) -> Iterator[None]:
    """Draw what the machine and a stage do, until it is left."""
    if not view.is_terminal:
        yield
        return
    ending = threading.Event()
    thread = threading.Thread(target=_watch, args=(view, stage, ending), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
        view.draw(())


def _watch(view: LiveView, stage: Stage, ending: threading.Event) -> None:
    host = Host()
    read_cores = open_cores(host)
    before: Cores = read_cores().value or ()
    while not ending.wait(REDRAW_SECONDS):
        after = read_cores().value or ()
        values = [(name, _value(read)) for name, read in list(stage.gauges.items())]
        columns = view.columns
        lines = (
            core_line(loads(before, after), columns),
            value_line(read_zombies(host), values, columns),
        )
        view.draw(tuple(line for line in lines if line))
        before = after


def _value(read: Callable[[], str]) -> str:
    # What a scenario shows must not break the view, still less the scenario.
    try:
        return read()
    except Exception as error:  # noqa: BLE001
        return f"({type(error).__name__})"


def _joined(lines: tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)
