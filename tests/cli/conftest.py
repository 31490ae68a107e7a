from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from necroscope.cli.main import main

PROGRAM = Path(sys.executable).with_name("necroscope")

Run = Callable[..., CompletedProcess[str]]
Document = Callable[..., dict[str, Any]]


@pytest.fixture
def necroscope(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The program in this process: ten times as quick."""

    def run(*words: str | Path, env: Mapping[str, str] | None = None) -> CompletedProcess[str]:
        with monkeypatch.context() as patch:
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            try:
                code = main([str(word) for word in words])
            except SystemExit as ended:  # how argparse ends after --help
                code = int(ended.code or 0)
        captured = capsys.readouterr()
        return CompletedProcess(words, code, captured.out, captured.err)

    return run


@pytest.fixture
def document(necroscope: Run) -> Document:
    """The JSON object that a command prints, checked for its envelope; `exit_code` None: any will do."""

    def read(*words: str | Path, exit_code: int | None = 0) -> dict[str, Any]:
        done = necroscope(*words, "--json")
        assert exit_code in (None, done.returncode), done.stderr
        body: dict[str, Any] = json.loads(done.stdout)
        assert body["schema"] == 1
        return body

    return read
