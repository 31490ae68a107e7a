"""How far the tasks of a cluster are: one line on stderr, on a terminal only."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def told_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """What is called with how many tasks are done, of how many. The line is gone in the end."""
    stream = sys.stderr
    is_shown = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"

    def tell(done: int, all_of_them: int) -> None:
        if is_shown:
            stream.write(f"\r\x1b[K{what}: {done} of {all_of_them}")
            stream.flush()

    try:
        yield tell
    finally:
        if is_shown:
            stream.write("\r\x1b[K")
            stream.flush()
