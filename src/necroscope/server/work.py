"""Questions run in threads: few at once, few waiting, and none for a client that has gone.

The threads are daemons: one that is stuck does not keep the server from ending. They give way to everything
else on the node, the recorder above all.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from necroscope.errors import BusyError

T = TypeVar("T")
AT_ONCE = 2
MOST_WAITING = 32
NICENESS = 10


class Work:
    """A few threads, and a short queue before them."""

    def __init__(self, at_once: int = AT_ONCE, most_waiting: int = MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._something_to_do = threading.Condition()
        self._free = at_once
        self.was_asked = False
        for number in range(at_once):
            threading.Thread(target=self._run, name=f"question-{number}", daemon=True).start()

    async def ask(self, question: Callable[[], T]) -> T:
        """The answer; BusyError where too many wait. What is cancelled before it begins never does."""
        return await asyncio.wrap_future(self._put(question))

    def _put(self, question: Callable[[], T]) -> Future[T]:
        self.was_asked = True
        future: Future[T] = Future()
        with self._something_to_do:
            self._forget_the_cancelled()
            if len(self._waiting) >= self._most_waiting + self._free:
                what = f"busy: {self._most_waiting} questions are waiting"
                raise BusyError(what, hint="ask again in a few seconds")
            self._waiting.append((future, question))
            self._something_to_do.notify()
        return future

    def _forget_the_cancelled(self) -> None:
        """Those who went away take no place."""
        self._waiting = deque(entry for entry in self._waiting if not entry[0].cancelled())

    def _run(self) -> None:
        give_way()
        while True:
            future, question = self._take()
            if future.set_running_or_notify_cancel():
                _answer(future, question)
            del future, question  # an answer may be large, and the next question may be long in coming
            with self._something_to_do:
                self._free += 1

    def _take(self) -> tuple[Future[Any], Callable[[], Any]]:
        with self._something_to_do:
            self._something_to_do.wait_for(lambda: self._waiting)
            self._free -= 1
            return self._waiting.popleft()


def _answer(future: Future[T], question: Callable[[], T]) -> None:
    try:
        future.set_result(question())
    except BaseException as error:  # noqa: BLE001 - raised again where the answer is awaited
        future.set_exception(error)


def give_way() -> None:
    """Lower the priority of the calling thread; on Linux a niceness belongs to a thread."""
    with suppress(OSError):  # some sandboxes forbid it: the work is done all the same
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS)
