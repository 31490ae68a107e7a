"""A file that is as old as the recorder's last reading, and nothing that others planted."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from necroscope.agent.heartbeat import Heartbeat
from necroscope.errors import UsageError


def test_every_beat_touches_the_file(tmp_path: Path) -> None:
    path = tmp_path / "heartbeat"
    heartbeat = Heartbeat(path)
    assert time.time() - path.stat().st_mtime < 5
    os.utime(path, (0, 0))
    heartbeat.beat()
    assert time.time() - path.stat().st_mtime < 5
    assert path.read_bytes() == b""


def test_one_of_a_recorder_before_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "heartbeat"
    path.touch()
    os.utime(path, (0, 0))
    Heartbeat(path)
    assert time.time() - path.stat().st_mtime < 5


def test_without_a_file_nothing_happens() -> None:
    Heartbeat(None).beat()


def test_a_file_that_has_gone_stops_nobody(tmp_path: Path) -> None:
    heartbeat = Heartbeat(tmp_path / "heartbeat")
    (tmp_path / "heartbeat").unlink()
    heartbeat.beat()
    assert not (tmp_path / "heartbeat").exists(), "the probe notices"


def test_a_link_or_a_pipe_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "link", tmp_path / "pipe", tmp_path / "missing/heartbeat"):
        with pytest.raises(UsageError, match="cannot write"):
            Heartbeat(path)
    assert not (tmp_path / "target").exists()


def test_a_link_that_takes_its_place_is_not_followed(tmp_path: Path) -> None:
    path, target = tmp_path / "heartbeat", tmp_path / "target"
    heartbeat = Heartbeat(path)
    path.unlink()
    target.touch()
    os.utime(target, (0, 0))
    path.symlink_to(target)
    heartbeat.beat()
    assert target.stat().st_mtime == 0
