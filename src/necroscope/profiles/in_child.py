"""A capture sealed by a child in bounded time and memory, for a server that must go on whatever is read.

    python -P -m necroscope.profiles.in_child      with a question in JSON on standard input

The names of functions come from files that may belong to anybody, on a file system that may hang. If a
child does not come back, the next one does without those files, and for a while all do.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from necroscope.errors import ImportFileError, NecroscopeError
from necroscope.profiles.import_ import seal_capture
from necroscope.store.child import PYTHON, Child

MIN_SECONDS = 30.0
BYTES_PER_SECOND = 10 << 20  # a twentieth of what is usual
CAREFUL_SECONDS = 600.0
MIN_MEMORY_BYTES, MAX_MEMORY_BYTES = (
    1 << 30,
    4 << 30,
)  # what may be taken; a capture takes as much as its file


@dataclass(frozen=True, slots=True)
class _Question:
    """What `seal_capture` is to do. Without a root only the functions of the kernel get names."""

    capture: str
    folder: str
    boot_id: str
    begin_ns: int | None
    end_ns: int | None
    root: str | None
    seconds: float


class Sealing:
    """Seals captures, one at a time, and remembers when the files of programs have done harm."""

    def __init__(self) -> None:
        self._careful_until = 0.0

    def seal(
        self, capture: Path, parent: Path, boot_id: str, begin_ns: int | None, end_ns: int | None
    ) -> Path:
        """Return a new folder with the profile, below `parent`. Raises ImportFileError or OSError."""
        size = capture.stat().st_size
        seconds = max(MIN_SECONDS, size / BYTES_PER_SECOND)
        memory = min(max(MIN_MEMORY_BYTES, 2 * size), MAX_MEMORY_BYTES)
        why = ""
        for root in (None,) if time.monotonic() < self._careful_until else ("/", None):
            folder = parent / ("all-names" if root else "kernel-names")
            folder.mkdir()
            clip = begin_ns, end_ns
            why = _ask(_Question(str(capture), str(folder), boot_id, *clip, root, seconds), memory)
            if not why:
                return folder
            if root:
                self._careful_until = time.monotonic() + CAREFUL_SECONDS
        raise ImportFileError(f"{capture}: {why}")


def _ask(question: _Question, memory_bytes: int) -> str:
    """Return why a child could not do it; empty if it did. Raises ImportFileError if nobody can."""
    child = Child()
    child.start([*PYTHON, "-m", __name__], json.dumps(asdict(question)).encode(), memory_bytes)
    child.wait(question.seconds)
    if (ended := child.ended()) is None:
        child.kill()
        child.wait(1.0)
        child.ended()
        return f"reading it was ended after {question.seconds:.0f} s"
    if ended.slug == ImportFileError.slug:
        raise ImportFileError(ended.why("reading"))
    return ended.why("reading") if ended.code or ended.slug else ""


def _answer(question: _Question) -> dict[str, Any]:
    """Seal in this process, which may not come back."""
    signal.setitimer(signal.ITIMER_REAL, question.seconds)  # nobody may be there to end us
    clip = question.begin_ns, question.end_ns
    root = Path(question.root) if question.root else None
    try:
        seal_capture(Path(question.capture), Path(question.folder), question.boot_id, *clip, root=root)
    except NecroscopeError as error:
        return {"error": {"slug": error.slug, "what": error.what}}
    except OSError as error:
        return {"error": {"slug": ImportFileError.slug, "what": str(error)}}
    return {}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_answer(_Question(**json.load(sys.stdin)))))
