"""Verbs of the program, run in a child of the probe: what is imported once need not be imported again.

In a guest without hardware support, starting the program anew takes most of ten seconds each time.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from necroscope.cli.main import main

WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Verb:
    """One that runs, and the file that it writes to."""

    pid: int
    output: Path

    def lines(self) -> list[str]:
        """The whole lines that it has written."""
        return [line for line in self.output.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def wait_for_line(self, after: int = 0) -> dict[str, Any]:
        """The last JSON line, once there are more than `after`."""
        deadline = time.monotonic() + WAIT_SECONDS
        while len(lines := self.lines()) <= after:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no line number {after + 1} in {WAIT_SECONDS:.0f} s")
            time.sleep(0.1)
        body: dict[str, Any] = json.loads(lines[-1])
        return body


@contextmanager
def running(words: Sequence[str], folder: Path) -> Iterator[Verb]:
    """A verb, until it ends or is no longer needed."""
    output = folder / f"{words[0]}.out"
    output.touch()
    pid = os.fork()
    if pid == 0:
        _become(words, output)
    try:
        yield Verb(pid, output)
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def answer(words: Sequence[str], folder: Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of a verb that ends by itself."""
    output = folder / f"{words[0]}.out"
    pid = os.fork()
    if pid == 0:
        _become(words, output)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    body: dict[str, Any] = json.loads(output.read_text())
    return code, body


def _become(words: Sequence[str], output: Path) -> None:
    code = 70
    try:
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), sys.stdout.fileno())
        code = main(words)
        sys.stdout.flush()
    finally:
        os._exit(code)
