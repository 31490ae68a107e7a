from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from unittest.mock import patch

import pytest

from lab.machines.tracefs import tracefs_mounted

# The recorded machines have links that lead in circles, as every /sys has.
collect_ignore = ["hosts"]
_mounts = ExitStack()


@pytest.fixture(autouse=True)
def _images_are_held_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests leave of fixes of images is not left in the /run of this machine."""
    folder = tmp_path_factory.getbasetemp() / "run"
    folder.mkdir(exist_ok=True)
    # Not by `monkeypatch`: it would be made before the fixtures of the test, and end after them.
    with patch("necroscope.remedies.transaction.machine_lock.RUN", folder):
        yield


@pytest.fixture(autouse=True)
def _as_nice_as_before() -> Iterator[None]:
    """Sealing lowers the priority of its process; here that is the process of all tests to come."""
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    yield
    with suppress(PermissionError):  # only root may take it back
        os.setpriority(os.PRIO_PROCESS, 0, nice)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before the tests are collected: some are skipped where there is no tracefs."""
    _mounts.enter_context(tracefs_mounted())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What was mounted is taken back."""
    _mounts.close()
