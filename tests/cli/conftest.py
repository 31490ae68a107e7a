from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from necroscope.cli.main import main

PROGRAM = Path(sys.executable).with_name("necroscope")

Run = Callable[..., subprocess.CompletedProcess[str]]
Document = Callable[..., dict[str, Any]]


@pytest.fixture
def necroscope() -> Run:
    """The installed program, run as a user runs it."""

    def run(
        *words: str | Path, env: Mapping[str, str] | None = None, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        command = [str(PROGRAM), *map(str, words)]
        environment = {**os.environ, **(env or {})}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False, **more
        )

    return run


@pytest.fixture
def document(necroscope: Run) -> Callable[..., dict[str, Any]]:
    """The JSON object that a command prints, checked for its envelope."""

    def read(*words: str | Path, exit_code: int | None = None) -> dict[str, Any]:
        done = necroscope(*words, "--json")
        assert exit_code is None or done.returncode == exit_code, done.stderr
        body: dict[str, Any] = json.loads(done.stdout)
        assert body["schema"] == 1
        return body

    return read


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The program in this process: ten times as quick."""

    def run(*words: str | Path, env: Mapping[str, str] | None = None) -> CompletedProcess[str]:
        with monkeypatch.context() as patch:
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return CompletedProcess(words, code, captured.out, captured.err)

    return run


@pytest.fixture
def body_of(here: Run) -> Document:
    """The JSON object that a command prints."""

    def read(*words: str | Path, exit_code: int = 0) -> dict[str, Any]:
        done = here(*words, "--json")
        assert done.returncode == exit_code, done.stderr
        body: dict[str, Any] = json.loads(done.stdout)
        return body

    return read
