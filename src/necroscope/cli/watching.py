"""A verb that shows the same thing again every second until it is stopped."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from necroscope.agent.stop_signals import signals

HOME_AND_CLEAR = "\033[H\033[J"


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set; a second Ctrl-C ends the program at once."""
    stop = threading.Event()
    with signals() as asked:
        asked.when_stopped(stop.set)
        yield stop


def every_second(seconds: float | None, stop: threading.Event) -> Iterator[float]:
    """Now and then once a second, for some seconds or until it is stopped: how much time has gone.

    What is asked for is followed by a last one at its end, also where that is not a whole second.
    """
    begin = time.monotonic()
    due = 0.0
    while True:
        yield time.monotonic() - begin
        if stop.is_set() or (seconds is not None and due >= seconds):
            return
        due = due + 1 if seconds is None else min(due + 1, seconds)
        stop.wait(max(begin + due - time.monotonic(), 0))


def show(text: str, *, again: bool) -> None:
    """Write a frame: over the one before on a terminal, cut where that ends; else below it."""
    if not sys.stdout:
        return
    if again:
        rows = max(shutil.get_terminal_size().lines - 1, 1)
        text = HOME_AND_CLEAR + "\n".join(text.split("\n")[:rows])
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
