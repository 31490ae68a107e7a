"""All that a run tells, with the seconds since it began, in a file of its folder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lab.running.stage import Stage

NAME = "transcript.txt"


@contextmanager
def transcript(stage: Stage) -> Iterator[None]:
    """Write down what is told from now on."""
    tell, began = stage.tell, time.monotonic()
    # Unbuffered: a handler of signals tells something too, and may come in the middle of another telling.
    with (stage.folder / NAME).open("wb", buffering=0) as file:

        def tell_and_write(line: str) -> None:
            with suppress(OSError):  # a full disk must not break an undo
                file.write(f"{time.monotonic() - began:7.1f} s  {line}\n".encode())
            tell(line)

        stage.tell = tell_and_write
        try:
            yield
        finally:
            stage.tell = tell
