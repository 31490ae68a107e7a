"""A short-lived child of the recorder that does the heavy work and prints one JSON object."""

from __future__ import annotations

import json
import os
import resource
import signal
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
    killed_after_seconds: float | None = None  # if we ended it

    def why(self, what: str) -> str:
        """Return why it failed: it took too long, the error that it printed, or its exit code."""
        if self.killed_after_seconds is not None:
            return f"the {what} child was ended after {self.killed_after_seconds:.0f} s"
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
        self._killed_after: float | None = None

    @property
    def pid(self) -> int | None:
        """The child at work."""
        return self._process.pid if self._process else None

    @property
    def age_seconds(self) -> float:
        """How long it has been at work."""
        return time.monotonic() - self._began if self._process else 0.0

    def start(self, command: Sequence[str], content: bytes = b"", memory_bytes: int = 0) -> None:
        """Start one with this content on its standard input; with more memory than this it fails.

        0 bytes set no limit. Raises OSError.
        """
        # Files in memory: a pipe would hold us up, or the child, once it is full; a disk may be full, too.
        given = os.memfd_create("given") if content else None
        answer = os.memfd_create("answer")
        try:
            if given is not None:
                os.write(given, content)
                os.lseek(given, 0, os.SEEK_SET)
            # In a session of its own: a Ctrl-C at the terminal is meant for the recorder.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL if given is None else given,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            _limit_memory(process, memory_bytes)
        except OSError:
            os.close(answer)
            raise
        finally:
            if given is not None:
                os.close(given)
        self._process, self._answer = process, answer
        self._began = time.monotonic()
        self._killed_after = None

    def ended(self) -> Ended | None:
        """How it ended, once; None while it is at work, and where there is none."""
        process = self._process
        if process is None or process.poll() is None:
            return None
        self._process = None
        with os.fdopen(self._answer, "rb") as file:
            file.seek(0)
            answer = file.read(MAX_ANSWER_BYTES)
        was_killed = process.returncode == -signal.SIGKILL
        return Ended(process.returncode, _parsed(answer), self._killed_after if was_killed else None)

    def wait(self, timeout_seconds: float) -> None:
        """Wait until it has ended, or for so long."""
        if self._process:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(max(timeout_seconds, 0))

    def kill(self) -> None:
        """End it at once; `ended` reports it later."""
        if self._process:
            if self._killed_after is None:
                self._killed_after = self.age_seconds
            self._process.kill()


def _limit_memory(process: subprocess.Popen[bytes], memory_bytes: int) -> None:
    if not memory_bytes:
        return
    try:
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    except ProcessLookupError:
        return
    except OSError:
        process.kill()
        process.wait()
        raise


def _parsed(answer: bytes) -> dict[str, Any]:
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
