"""A short-lived child of the recorder that does the heavy work and prints one JSON object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

# -P: never code from the folder that we happen to be started in, which may be anybody's.
PYTHON = (sys.executable, "-P")
OURSELVES = (*PYTHON, "-m", "necroscope")
MAX_ANSWER_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: its exit code, and what it printed; nothing where it was killed in the middle."""

    code: int
    document: Mapping[str, Any]

    def why(self, what: str) -> str:
        """Return the error that it printed, or that it ended with a code."""
        return self._of_error("what") or f"the {what} child ended with {self.code}"

    @property
    def slug(self) -> str:
        """The kind of the error that it printed; empty if it printed none."""
        return self._of_error("slug")

    def _of_error(self, name: str) -> str:
        error = self.document.get("error")
        return str(error.get(name) or "") if isinstance(error, dict) else ""


class Child:
    """One child at a time. Nothing here waits but `wait`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._answer = -1  # what it prints, a file in memory
        self._began = 0.0

    @property
    def pid(self) -> int | None:
        """The child at work."""
        return self._process.pid if self._process else None

    @property
    def age_seconds(self) -> float:
        """How long it has been at work."""
        return time.monotonic() - self._began if self._process else 0.0

    def start(self, command: Sequence[str], content: bytes = b"") -> None:
        """Start one, with something to read on its standard input. OSError where that cannot be."""
        # Files in memory: a pipe would hold us up, or the child, once it is full; a disk may be full, too.
        given = os.memfd_create("given") if content else None
        answer = os.memfd_create("answer")
        try:
            if given is not None:
                os.write(given, content)
                os.lseek(given, 0, os.SEEK_SET)
            # In a session of its own: a Ctrl-C at the terminal is meant for the recorder.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL if given is None else given,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            os.close(answer)
            raise
        finally:
            if given is not None:
                os.close(given)
        self._answer = answer
        self._began = time.monotonic()

    def ended(self) -> Ended | None:
        """How it ended, once; None while it is at work, and where there is none."""
        process = self._process
        if process is None or process.poll() is None:
            return None
        self._process = None
        with os.fdopen(self._answer, "rb") as file:
            file.seek(0)
            answer = file.read(MAX_ANSWER_BYTES)
        return Ended(process.returncode, _parsed(answer))

    def wait(self, timeout_seconds: float) -> None:
        """Wait until it has ended, or for so long."""
        if self._process:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(max(timeout_seconds, 0))

    def kill(self) -> None:
        """End it at once; `ended` tells of it later."""
        if self._process:
            self._process.kill()


def _parsed(answer: bytes) -> dict[str, Any]:
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
