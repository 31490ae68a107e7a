from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable

import pytest

from necroscope.errors import BusyError
from necroscope.server.work import Work


def test_an_answer_and_an_error_come_back() -> None:
    def fail() -> None:
        raise ValueError("odd")

    async def both() -> None:
        work = Work()
        assert await work.ask(lambda: 6 * 7) == 42
        with pytest.raises(ValueError, match="odd"):
            await work.ask(fail)
        assert await work.ask(lambda: 1) == 1, "the thread goes on"

    asyncio.run(both())


def test_questions_give_way_and_do_not_hold_up_the_end() -> None:
    def look() -> tuple[int, bool]:
        niceness = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        return niceness, threading.current_thread().daemon

    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert asyncio.run(Work().ask(look)) == (min(before + 10, 19), True)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before, "others keep theirs"


def test_two_at_once_and_few_waiting() -> None:
    async def flood() -> None:
        work, release = Work(at_once=2, most_waiting=3), threading.Event()
        running: list[int] = []
        tasks = [asyncio.create_task(work.ask(slow(running, release))) for _ in range(9)]
        await until(lambda: len(running) == 2 and sum(task.done() for task in tasks) == 4)
        assert all(isinstance(task.exception(), BusyError) for task in tasks if task.done())
        release.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert answers.count(1) == 5
        assert await work.ask(lambda: 2) == 2, "and then there is room again"

    asyncio.run(flood())


def test_who_went_away_is_not_computed_and_takes_no_place() -> None:
    async def leave() -> None:
        work, release = Work(at_once=1, most_waiting=1), threading.Event()
        running: list[int] = []
        first = asyncio.create_task(work.ask(slow(running, release)))
        await until(lambda: len(running) == 1)
        second = asyncio.create_task(work.ask(slow(running, release)))
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await work.ask(lambda: 1)
        second.cancel()
        await asyncio.sleep(0)
        third = asyncio.create_task(work.ask(lambda: 3))
        await asyncio.sleep(0)
        release.set()
        assert (await first, await third) == (1, 3)
        assert len(running) == 1, "the second never began"

    asyncio.run(leave())


def slow(running: list[int], release: threading.Event) -> Callable[[], int]:
    def question() -> int:
        running.append(1)
        release.wait(10)
        return 1

    return question


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not is_so():
            await asyncio.sleep(0.01)
