"""A child that does the heavy work: started, seen to, and understood whatever it says."""

from __future__ import annotations

import time

import pytest

from necroscope.store.child import Child, Ended


def run(script: str) -> Ended:
    child = Child()
    assert child.ended() is None
    child.start(["sh", "-c", script])
    child.wait(10)
    ended = child.ended()
    assert ended
    assert (child.ended(), child.pid, child.age_seconds) == (None, None, 0.0), "it is told once"
    return ended


def test_how_it_ended() -> None:
    assert run("""echo '{"a": 1}'""") == Ended(0, {"a": 1})
    assert run("""echo '{"error": {"what": "no room"}}'; exit 3""").why("sealing") == "no room"


@pytest.mark.parametrize(
    "answer", ["", "no JSON", "[]", '{"error": null}', '{"error": "x"}', '{"error": {}}']
)
def test_a_child_that_says_nothing_of_use(answer: str) -> None:
    assert run(f"printf %s '{answer}'; exit 2").why("sealing") == "the sealing child ended with 2"


def test_one_that_is_killed() -> None:
    child = Child()
    child.start(["sleep", "60"])
    begin = time.monotonic()
    child.wait(0.05)
    assert child.ended() is None
    assert child.age_seconds > 0
    child.kill()
    child.wait(10)
    ended = child.ended()
    assert ended
    assert (ended.code, time.monotonic() - begin < 5) == (-9, True)
    assert ended.why("sealing") == "the sealing child was ended after 0 s"


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(OSError, match="No such file"):
        Child().start(["/no/such/command"])


def test_one_that_is_given_something_to_read() -> None:
    child = Child()
    content = b"x" * (1 << 20)  # more than a pipe takes
    child.start(["sh", "-c", """printf '{"bytes": %d}' $(wc -c)"""], content)
    child.wait(10)
    assert child.ended() == Ended(0, {"bytes": 1 << 20})
    assert run("cat") == Ended(0, {}), "else there is nothing to read"
