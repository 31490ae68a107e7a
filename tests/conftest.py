from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis
import pytest

from lab.machines.tracefs import tracefs_mounted
from tests.machine_locks import machine_shared
from tests.tiers import ALONE, SMOKE_FILE, file_of, lane_of, touches_machine

# The recorded machines have links that lead in circles, as every /sys has.
collect_ignore = ["hosts"]
_mounts = ExitStack()
_files_with_servers: set[str] = set()
_own_folder: list[Path] = []

# The same examples in every run: what fails, fails again. `--hypothesis-profile=default` looks for new ones.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("same")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set up what all tests share."""
    if not _is_worker(config) and not config.option.basetemp:
        # That of pytest is one of the user's, and closed to other users whenever a pytest begins elsewhere.
        # Short: the path of a socket has 108 bytes at most, and some texts are judged by their width.
        _own_folder.append(Path(tempfile.mkdtemp(prefix="necro-")))
        _own_folder[0].chmod(0o711)
        config.option.basetemp = _own_folder[0] / "t"
    _obey_signals(config)


def pytest_unconfigure() -> None:
    """Remove what the tests made; `--basetemp` keeps it."""
    for folder in _own_folder:
        shutil.rmtree(folder, ignore_errors=True)


def _obey_signals(config: pytest.Config) -> None:
    """Obey Ctrl-C and a closed terminal in tests and what they start, even under nohup or with `&`.

    Programs would inherit that a signal is ignored. The process that hands out the tests starts only workers,
    and these must go on ignoring the signal.
    """
    if not _is_worker(config) and config.getoption("numprocesses", None):
        return
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: lambda *_: None}
    for number, handler in handlers.items():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(scope="module", autouse=True)
def _machine_shared_with_other_clones(request: pytest.FixtureRequest) -> Iterator[None]:
    """Wait for tests in other clones that would disturb these, or be disturbed."""
    file = file_of(request.node.nodeid)
    with machine_shared(file, has_servers=file in _files_with_servers):
        yield


@pytest.fixture(autouse=True)
def _images_are_held_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep locks and records of fixed images out of this machine's /run."""
    folder = tmp_path_factory.getbasetemp() / "run"
    folder.mkdir(exist_ok=True)
    # Not by `monkeypatch`: it would be made before the fixtures of the test, and end after them.
    with patch("necroscope.remedies.apply.lock.RUN", folder):
        yield


@pytest.fixture(autouse=True)
def _as_nice_as_before() -> Iterator[None]:
    """Restore the priority of this process, which sealing lowers."""
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    yield
    with suppress(PermissionError):  # only root may raise it again
        os.setpriority(os.PRIO_PROCESS, 0, nice)


def _is_worker(config: pytest.Config) -> bool:
    """Return whether this is one of several workers, not the process that hands out the tests."""
    return hasattr(config, "workerinput")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Mount tracefs before tests are collected: some are skipped if it is missing."""
    if not _is_worker(session.config):
        _mounts.enter_context(tracefs_mounted())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Unmount it, unless tests in another clone use it."""
    _mounts.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what touches the machine, and what needs it for itself."""
    for item in items:
        file = file_of(item.nodeid)
        if touches_machine(file):
            item.add_marker(pytest.mark.real)
        if file in ALONE:
            item.add_marker(pytest.mark.alone)
    if _is_worker(config):  # one begins with the longest lane
        items.sort(key=lambda item: lane_of(item.nodeid) not in ("zombies", SMOKE_FILE))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which files have tests that need guests, servers or time."""
    _files_with_servers.update(
        file_of(item.nodeid) for item in session.items if item.get_closest_marker("servers")
    )


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how long each test took, for `scripts/run-tests`."""
    if (path := os.environ.get("NECROSCOPE_DURATIONS")) and not os.environ.get("PYTEST_XDIST_WORKER"):
        with Path(path).open("a") as file:
            file.write(f"{report.duration:6.1f} s  {report.nodeid} ({report.when})\n")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each lane to one worker."""
    from xdist.scheduler import LoadScopeScheduling

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = lane_of
    return scheduler
