"""One recorder a store and host."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from necroscope.errors import StoreError, StoreHeldError
from necroscope.store.lock import LOCK, held

HOLD = "import sys, pathlib; from necroscope.store.lock import held\n"
HOLD += "with held(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"


def test_the_second_one_is_told_who_has_it_and_since_when(tmp_path: Path) -> None:
    with held(tmp_path / "node"):
        with pytest.raises(StoreHeldError) as error, held(tmp_path / "node"):
            pytest.fail("two of them hold it")
        assert re.search(rf"pid {os.getpid()}, since 20\d\d-\d\d-\d\dT[\d:.]+Z", error.value.what)
        assert str(tmp_path / "node") in error.value.what
    with held(tmp_path / "node"):
        pass


def test_another_host_is_another_lock(tmp_path: Path) -> None:
    with held(tmp_path / "a"), held(tmp_path / "b"):
        assert (tmp_path / "a" / LOCK).exists()


def test_a_killed_one_lets_go(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert child.stdout and child.stdout.readline() == b"held\n"
        with pytest.raises(StoreHeldError, match=f"pid {child.pid}"), held(tmp_path):
            pytest.fail("two of them hold it")
    finally:
        child.kill()
        child.communicate()
    with held(tmp_path):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 5}', '{"pid": 5, "since_ns": "x"}'])
def test_a_lock_that_does_not_say_whose_it_is(tmp_path: Path, text: str) -> None:
    with held(tmp_path):
        (tmp_path / LOCK).write_text(text)
        with pytest.raises(StoreHeldError, match="held by another recorder"), held(tmp_path):
            pytest.fail("two of them hold it")


def test_a_longer_text_of_before_is_gone(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("x" * 500)
    with held(tmp_path), pytest.raises(StoreHeldError, match=f"pid {os.getpid()}"), held(tmp_path):
        pytest.fail("two of them hold it")


def test_a_full_disk_is_no_reason_not_to_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with held(tmp_path), pytest.raises(StoreHeldError, match="another recorder"), held(tmp_path):
            pytest.fail("two of them hold it")


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="Not a directory") as error, held(tmp_path / "file/node"):
        pytest.fail("there is no such folder")
    assert "--store" in error.value.hint
