"""How long is waited after a failure, and until when something is tried."""

from __future__ import annotations

import time

import pytest

from necroscope.model import retry as module
from necroscope.model.retry import Deadline, Retry, add_jitter


def test_the_pause_doubles_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "JITTER_RATIO", 0.0)
    retry = Retry(60.0, 600.0)
    assert [retry.pause_seconds(failures) for failures in range(1, 7)] == [60, 120, 240, 480, 600, 600]
    assert retry.pause_seconds(10_000) == 600


def test_pauses_differ_between_nodes() -> None:
    pauses = {add_jitter(100.0) for _ in range(10)}
    assert len(pauses) == 10 and all(80 <= pause <= 120 for pause in pauses)


def test_a_deadline_passes() -> None:
    deadline = Deadline(0.05)
    assert 0 < deadline.left <= 0.05
    time.sleep(0.06)
    assert deadline.left < 0
