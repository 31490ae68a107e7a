"""Ctrl-C and its like, turned into an undo that nothing breaks.

The first SIGINT, SIGTERM or SIGHUP raises `Interrupted` in what is played, so that its context managers undo
what they made. From then on more of them change nothing. One that comes while a context manager is leaving
waits until it has left, and one that comes while it is entering waits for some seconds: between making a
thing and knowing how to remove it, an exception would leave it behind.

Needs    the main thread; a signal that is ignored when we start (`nohup`) stays ignored
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import CodeType, FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENTERING_SECONDS = 5.0
AGAIN_SECONDS = 0.1
WAIT = "undoing; please wait"


class Interrupted(KeyboardInterrupt):
    """Somebody wants an end."""


@dataclass(slots=True)
class Interruptions:
    """What came of signals until now."""

    tell: Callable[[str], None]
    signal: str = ""  # the first, by name
    first_seconds: float = 0.0
    playing: CodeType | None = None  # the function below which context managers are those of the play
    is_raised: bool = False
    is_repeated: bool = False

    def play(self, function: Callable[[], None]) -> None:
        """Call it; a signal that comes in the meantime, or came before, raises in it."""
        self.playing = self.play.__func__.__code__  # type: ignore[attr-defined]
        try:
            if self.signal:
                raise Interrupted(self.signal)
            function()
        finally:
            self.playing = None
            signal.setitimer(signal.ITIMER_REAL, 0)
        if self.signal and not self.is_raised:
            raise Interrupted(self.signal)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Take a signal, or the alarm that asks again."""
        if number != signal.SIGALRM:
            if self.signal:
                self.is_repeated = True
                self._say(WAIT)
                return
            self.signal, self.first_seconds = signal.Signals(number).name, time.monotonic()
            self._say(f"{self.signal}: {WAIT}")
        if self.playing is None or self.is_raised:
            return
        if self._must_wait(frame):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
            return
        self.is_raised = True
        raise Interrupted(self.signal)

    def _say(self, line: str) -> None:
        """Tell it, if somebody still listens: at SIGHUP the terminal has gone, and we may be undoing."""
        with suppress(OSError):
            self.tell(line)

    def _must_wait(self, frame: FrameType | None) -> bool:
        names = set()
        while frame and frame.f_code is not self.playing:
            names.add(frame.f_code.co_name)
            frame = frame.f_back
        is_new = time.monotonic() - self.first_seconds < ENTERING_SECONDS
        return "__exit__" in names or ("__enter__" in names and is_new)


@contextmanager
def interruptions(tell: Callable[[str], None]) -> Iterator[Interruptions]:
    """Take the signals that ask for an end, for some time."""
    state = Interruptions(tell)
    taken = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, state.handle) for number in (*taken, signal.SIGALRM)}
    try:
        yield state
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
