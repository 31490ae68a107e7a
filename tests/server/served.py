"""A real `necroscope serve` in a process of its own, at a port that nobody else has."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("necroscope")
STARTS_SECONDS = 30.0
ENDS_SECONDS = 20.0
TOLD = re.compile(r"the page is at (https?://\S+)")


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers."""

    address: str  # with a slash at its end
    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        """What it wrote until now."""
        return self.log.read_text()


@contextmanager
def served(store: Path, *options: str, port: int = 0, wrapper: Sequence[str] = ()) -> Iterator[Served]:
    """Serve a store for some time, behind a wrapper that becomes the server; a test may end it before."""
    with tempfile.NamedTemporaryFile(prefix="necroscope-serve-", suffix=".log") as log:
        words = ["serve", "--listen", f"127.0.0.1:{port}", "--store", str(store), *options]
        command = [*wrapper, str(PROGRAM), *words]
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            yield Served(_address(process, Path(log.name)), process, Path(log.name))
        finally:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to stop, and make sure that it does."""
    process.terminate()
    try:
        process.wait(ENDS_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + STARTS_SECONDS
    while time.monotonic() < deadline:
        if told := TOLD.search(log.read_text()):
            return told[1]
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise AssertionError(f"the server did not start: {log.read_text()}")
