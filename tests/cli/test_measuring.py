"""Recording a stretch of time for a comparison, on this machine."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from necroscope.cli import measuring
from necroscope.cli.measuring import Wanted, have_recorded, record_baseline
from necroscope.errors import CannotLookError
from necroscope.sources.host import Host
from necroscope.sources.throttling import THROTTLING
from necroscope.store.lock import held
from necroscope.store.read_range import read_moments
from necroscope.store.store import Store
from necroscope.store.store_place import host_name


def quietly(*_: int) -> None:
    """Shows nothing."""


def recorded(store: Path) -> float:
    return sum((segment.end_ns - segment.begin_ns) / 1e9 for segment in Store(store).segments())


def test_a_baseline_is_recorded_once_and_has_two_readings_of_all(tmp_path: Path) -> None:
    shown: list[tuple[int, int]] = []
    record_baseline(Host(), tmp_path, 3.0, lambda done, total: shown.append((done, total)))
    (segment,) = Store(tmp_path).segments()
    assert not segment.is_open and not segment.has_profile
    assert 2 <= recorded(tmp_path) <= 4
    assert len(read_moments(segment, (THROTTLING,))) == 2
    assert shown[-1] == (3, 3)
    # Most of the last three seconds is there now.
    record_baseline(Host(), tmp_path, 1.0, quietly)
    assert recorded(tmp_path) < 5


def test_ctrl_c_keeps_what_there_is(tmp_path: Path) -> None:
    def interrupt() -> None:
        while recorded(tmp_path) < 1:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        record_baseline(Host(), tmp_path, 600.0, quietly)
    other.join()
    assert 1 <= recorded(tmp_path) < 600
    assert [segment.is_open for segment in Store(tmp_path).segments()] == [False]


def test_a_recorder_that_writes_nothing_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measuring, "LOOK_EVERY_SECONDS", 0.05)
    monkeypatch.setattr(measuring, "SILENT_SECONDS", 0.1)
    with held(Store(tmp_path).host_folder(host_name(Host()))):
        record_baseline(Host(), tmp_path, 5.0, quietly)  # there is none, and the fix goes on
        assert "no baseline was recorded" in capsys.readouterr().err
        with pytest.raises(CannotLookError, match="nothing has been written"):
            have_recorded(Host(), tmp_path, Wanted(time.time_ns(), 5.0, 2), quietly)
    assert recorded(tmp_path) == 0
