from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(sys.executable).with_name("necroscope")


@pytest.fixture
def doctor() -> Callable[..., dict[str, Any]]:
    """doctor on this machine, as JSON."""

    def look(*words: str) -> dict[str, Any]:
        command = [str(PROGRAM), "doctor", "--json", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode in (0, 1), done.stderr
        body: dict[str, Any] = json.loads(done.stdout)
        return body

    return look


def findings(body: dict[str, Any], id: str) -> list[dict[str, Any]]:
    """The findings of one kind."""
    return [finding for finding in body["findings"] if finding["id"] == id]


def evidence(finding: dict[str, Any]) -> dict[str, Any]:
    """A finding's evidence by name."""
    return {fact["name"]: fact["value"] for fact in finding["evidence"]}
