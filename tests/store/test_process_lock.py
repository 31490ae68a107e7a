"""One process at a time; tests/store/test_lock.py and those of fixes have it as it is used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from necroscope.store.process_lock import AlreadyHeldError, is_held, locked, told_by


def test_it_is_held_only_while_it_is_held(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path) and not path.exists(), "to ask makes no file"
    with locked(path, 0o600):
        holder = told_by(path)
        assert is_held(path) and holder and holder.pid == os.getpid()
        assert str(holder).startswith(f"pid {os.getpid()}, since 20")
        with pytest.raises(AlreadyHeldError) as caught, locked(path, 0o600):
            pytest.fail("two of them hold it")
        assert caught.value.holder == holder
    assert not is_held(path) and path.stat().st_mode & 0o777 == 0o600


def test_one_that_is_let_go_meanwhile_is_taken_at_a_later_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    first = locked(path, 0o600)
    first.__enter__()
    monkeypatch.setattr("time.sleep", lambda _: first.__exit__(None, None, None))
    with locked(path, 0o600, tries=2):
        assert is_held(path)


def test_what_fails_inside_is_not_our_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="of the caller"), locked(tmp_path / "lock", 0o600):
        raise OSError("of the caller")
    assert not is_held(tmp_path / "lock")
