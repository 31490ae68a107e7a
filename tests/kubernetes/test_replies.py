"""What is asked again at once, what later, and what somebody has to mend.

The answers are written here: the real API server of test_api_server does not say all of this when asked to.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat

import pytest

from necroscope.errors import NotReportedError
from necroscope.kubernetes.api_server import TRIES, Reply, TooBusyError, ask_again, refusal
from necroscope.model.retry import Deadline

OK = Reply(200, {})
CONFLICT = Reply(409, {"reason": "Conflict", "message": "the object has been modified"})
EXISTS = Reply(409, {"reason": "AlreadyExists"})


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds: list[float] = []
    monkeypatch.setattr("necroscope.kubernetes.api_server.time.sleep", seconds.append)
    return seconds


def answers(*replies: Reply) -> Callable[[], Reply]:
    """One after the other; the last again and again."""
    following = chain(replies, repeat(replies[-1]))
    return lambda: next(following)


def test_a_conflict_is_asked_again_at_once(slept: list[float]) -> None:
    assert ask_again(answers(CONFLICT, CONFLICT, OK), Deadline(30)) == OK
    assert len(slept) == 2
    assert all(0 < one < 2 for one in slept)
    with pytest.raises(NotReportedError, match="has been modified"):
        ask_again(answers(CONFLICT), Deadline(30))
    assert len(slept) == 2 + TRIES - 1


def test_what_is_there_already_is_an_answer(slept: list[float]) -> None:
    assert ask_again(answers(EXISTS), Deadline(30)) == EXISTS
    assert not slept


@pytest.mark.parametrize("status", [429, 503])
def test_who_asks_to_be_left_alone_is_left_alone_at_least_so_long(status: int, slept: list[float]) -> None:
    busy = Reply(status, {}, retry_after_seconds=2)
    assert ask_again(answers(busy, OK), Deadline(30)) == OK
    assert 2 <= slept[0] <= 3
    with pytest.raises(TooBusyError) as caught:
        ask_again(answers(busy), Deadline(1))
    assert caught.value.seconds >= 2
    assert len(slept) == 1, "it is not waited for in vain"


def test_a_server_that_fails_is_not_asked_again_at_once(slept: list[float]) -> None:
    for status in (500, 502, 504):
        with pytest.raises(NotReportedError, match=str(status)):
            ask_again(answers(Reply(status, {"message": "etcd is away"})), Deadline(30))
    with pytest.raises(TooBusyError):
        ask_again(answers(Reply(429, {})), Deadline(30))
    assert not slept


def test_refusals_are_answers(slept: list[float]) -> None:
    for status in (301, 401, 403, 404, 422):
        assert ask_again(answers(Reply(status, {})), Deadline(30)).status == status
    assert not slept


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (401, "Unauthorized", "the token in /t"),
        (403, "cannot patch", "nodes/status patch"),
        (403, "ValidatingAdmissionPolicy 'x' denied request", "spec.nodeName"),
        (422, "ValidatingAdmissionPolicy 'x' denied request", "spec.nodeName"),
        (404, 'nodes "n" not found', "is 'n' the node's name"),
        (302, "", "tokens are not sent there"),
        (422, "invalid", "please report it"),
    ],
)
def test_every_refusal_says_what_to_mend(status: int, said: str, hint: str) -> None:
    error = refusal(Reply(status, {"message": said}), "node n", "/t", "n")
    assert hint in error.hint
    assert error.what.endswith(f"({status})")
    assert error.exit_code == 3
