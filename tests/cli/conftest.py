from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(sys.executable).with_name("necroscope")

Run = Callable[..., subprocess.CompletedProcess[str]]


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
