from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any
from unittest.mock import patch

import pytest

from lab.machines.tracefs import tracefs_mounted
from tests.lanes import MACHINE, is_alone, lane_of

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


def _is_worker(config: pytest.Config) -> bool:
    """Whether this is one of several workers, and not the process that hands out the tests."""
    return hasattr(config, "workerinput")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before the tests are collected: some are skipped where there is no tracefs."""
    if not _is_worker(session.config):  # none may end what others use
        _mounts.enter_context(tracefs_mounted())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What was mounted is taken back."""
    _mounts.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs the machine for itself; of several workers, one begins with the longest lane."""
    for item in items:
        if is_alone(item.nodeid.partition("::")[0], getattr(item, "originalname", item.name)):
            item.add_marker(pytest.mark.alone)
    if _is_worker(config):
        items.sort(key=lambda item: lane_of(item.nodeid) != MACHINE)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Several workers: each lane is one's, from its first test to its last."""
    from xdist.scheduler import LoadScopeScheduling

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = lane_of
    return scheduler
