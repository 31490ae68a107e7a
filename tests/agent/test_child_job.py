"""The supervisor of children: when it ends them, and what it passes on."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from necroscope.agent.child_job import NOT_STARTED, ChildJob
from necroscope.store.child import Ended


class Heard:
    """How the children of a job ended."""

    def __init__(self, limit_seconds: float = 60.0) -> None:
        self.ended: list[Ended] = []
        self.job = ChildJob("testing", limit_seconds, self.ended.append)

    def see_through(self) -> Ended:
        end = time.monotonic() + 10
        while self.job.is_working() and time.monotonic() < end:
            self.job.wait(0.01)
        (ended,) = self.ended
        return ended


def test_a_child_is_heard_once_and_its_time_is_counted() -> None:
    heard = Heard()
    heard.job.start(["sh", "-c", """echo '{"cpu_seconds": 0.25, "a": 1}'"""])
    assert heard.see_through().document["a"] == 1
    assert not heard.job.is_working()
    assert (len(heard.ended), heard.job.cpu_seconds, heard.job.pid) == (1, 0.25, None)


def test_one_that_takes_too_long_is_ended() -> None:
    heard = Heard(0.1)
    heard.job.start(["sleep", "60"])
    assert heard.see_through().why("testing") == "the testing child was ended after 0 s"


def test_one_that_takes_too_much_memory_fails() -> None:
    heard = Heard()
    heard.job.start([sys.executable, "-c", "bytearray(1 << 30)"], memory_bytes=256 << 20)
    assert heard.see_through().code == 1


def test_one_that_cannot_be_started_is_heard_at_once(tmp_path: Path) -> None:
    heard = Heard()
    heard.job.start([str(tmp_path / "none")])
    (ended,) = heard.ended
    assert (ended.slug, heard.job.pid) == (NOT_STARTED, None)
    assert ended.why("testing") == "cannot start the testing child: No such file or directory"


@pytest.mark.parametrize("first", ["sleep 60", "true"])
def test_at_the_end_there_is_one_more_attempt_if_there_is_time(first: str) -> None:
    heard = Heard()
    given: list[float] = []
    heard.job.start(["sh", "-c", f"exec {first}"])
    begin = time.monotonic()
    heard.job.finish(0.5, given.append)
    assert given == ([] if first == "sleep 60" else [0.25])
    assert (len(heard.ended), heard.job.pid) == (1, None)
    assert time.monotonic() - begin < 5
