from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from unittest.mock import patch

import pytest

from lab.machines.tracefs import tracefs_mounted

_mounts = ExitStack()


@pytest.fixture(autouse=True)
def _images_are_held_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests leave of fixes of images is not left in the /run of this machine."""
    folder = tmp_path_factory.getbasetemp() / "run"
    folder.mkdir(exist_ok=True)
    # Not by `monkeypatch`: it would be made before the fixtures of the test, and end after them.
    with patch("necroscope.remedies.transaction.machine_lock.RUN", folder):
        yield


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before the tests are collected: some are skipped where there is no tracefs."""
    _mounts.enter_context(tracefs_mounted())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What was mounted is taken back."""
    _mounts.close()
