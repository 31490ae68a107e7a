"""What signals ask of a long-running verb: noted from its first moment on, acted on when it is ready."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Asked:
    """SIGINT and SIGTERM ask to stop, SIGHUP to read the configuration again."""

    def __init__(self) -> None:
        self.to_reload = False
        self._to_stop = False
        self._stop: Callable[[], None] | None = None

    @property
    def was_stopped(self) -> bool:
        """Whether somebody wanted us to end."""
        return self._to_stop

    def when_stopped(self, stop: Callable[[], None]) -> None:
        """Whom to tell; at once if it was asked before."""
        self._stop = stop
        if self._to_stop:
            stop()

    def stop(self) -> None:
        """Somebody wants us to end."""
        self._to_stop = True
        if self._stop:
            self._stop()


@contextmanager
def signals() -> Iterator[Asked]:
    """Catch the signals; a second Ctrl-C ends the program at once."""
    asked = Asked()

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, before[signal.SIGINT])
        asked.stop()

    def reload(*_: object) -> None:
        asked.to_reload = True

    handlers = {signal.SIGINT: stop, signal.SIGTERM: stop, signal.SIGHUP: reload}
    before = {number: signal.getsignal(number) for number in handlers}
    for number, handler in handlers.items():
        signal.signal(number, handler)
    try:
        yield asked
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)
