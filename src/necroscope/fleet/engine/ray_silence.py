"""Keep what Ray says about lost nodes out of the answer: it prints it to stdout, from a thread of its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class _OwnThreadsStream:
    """A stream that only the thread which made this writes to; what others write is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._owner = threading.get_ident()

    def write(self, text: str) -> int:
        """Write, or not."""
        return self._stream.write(text) if threading.get_ident() == self._owner else len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def silent_threads() -> Iterator[None]:
    """While it lasts, stdout is for this thread alone."""
    before: Any = sys.stdout
    if before is None:
        yield
        return
    sys.stdout = _OwnThreadsStream(before)
    try:
        yield
    finally:
        sys.stdout = before
