"""Programs of Kubernetes, where `scripts/go-programs` has built them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/go-programs"


@cache
def go_program(name: str) -> Path | None:
    """A program; None: it is not built, and here nothing builds it."""
    shown = subprocess.run([SCRIPT], capture_output=True, text=True, check=True)
    path = Path(shown.stdout.strip()) / name
    return path if path.exists() else None


def missing(*names: str) -> str:
    """What a test has to say for being skipped; empty: all programs are there."""
    absent = [name for name in names if go_program(name) is None]
    return f"needs {', '.join(absent)}: scripts/go-programs {' '.join(absent)}" if absent else ""
